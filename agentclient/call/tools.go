package call

import (
	"slices"
	"strings"
	"sync"
)

// toolTable lists the native tools of all agents whose arguments or common name are not clear from
// the names of their arguments. A line has the names of tools, their common name, what they do with
// the paths in their arguments or the shell of their commands, and arguments with another meaning
// than in argumentTable. Names of tools and arguments are compared in any case and without
// separators. A tool that is not in the table is read by argumentTable alone.
//
// The argument * stands for the whole call: here (without a path it is about the working directory),
// hidden (it runs code that the call doesn't have), mcp (it calls the MCP tool that its arguments
// name), or call (it calls the tool that its arguments name). The argument - is a text in place of the
// arguments, or an item of a list in place of them.
const toolTable = `
Bash sh zsh developer__shell                     | Bash | sh | patterns=lines input=stdin stdin=stdin
execute_bash control_bash_process                | Bash | sh | path=dir input=stdin stdin=stdin
Monitor                                          | Bash | -  |
shell shell_command exec_command local_shell container.exec Execute terminal unified_exec powershell_or_bash beforeShellExecution
                                                 | Bash | -  | patterns=lines shell=shell code=hidden input=stdin stdin=stdin read=read write=write
run_shell_command run_command execute_command run_in_terminal run_terminal_cmd run_terminal_command
                                                 | Bash | -  | directory=dir dir_path=dir input=stdin stdin=stdin read=read write=write
run_commands                                     | Bash | -  | args=operands -=lines
PowerShell pwsh                                  | Bash | powershell |
execute_pwsh control_pwsh_process                | Bash | powershell | path=dir
execute_cmd cmd command_prompt                   | Bash | cmd |
write_bash                                       | Bash | sh | input=typed
write_powershell                                 | Bash | powershell | input=typed
write_stdin write_shell_stdin pty_write interact_with_process send_keys
                                                 | Bash | -  | chars=typed input=typed data=typed keys=typed
send_command_input manage_task                   | Bash | -  | input=typed
send_to_terminal                                 | Bash | -  | command=typed text=typed
create_and_run_task                              | Bash | -  | workspace_folder=tasks args=operands
run_task run_vscode_command run_notebook_cell runTests run_tests use_aws aws workflow js_repl exec REPL execute_code
                                                 | -    | use | *=hidden args=data script=data

Read view view_file view_code_item view_file_outline read_code read_file read_files image_read cat open_file NotebookRead view_image
                                                 | Read | read | patterns=pattern -=file
fs_read                                          | Read | read | mode=mode
read_many_files                                  | Read | read | include=pattern
zoom_image display_image ReadLints read_notebook_cell_output get_notebook_summary get_errors get_changed_files show_file lsp
lsp_diagnostics lsp_symbols send_user_file artifact record_artifact test_search read_deployment_config
                                                 | -    | read |
generate_image                                   | -    | read | filename=write reference_image_paths=read
Write write_file create create_file write_to_file new_file fs_write
                                                 | Write | write | command=data patterns=pattern
Edit MultiEdit StrReplace EditNotebook NotebookEdit edit_notebook_file replace replace_in_file replace_string replace_string_in_file
multi_replace_string multi_replace_string_in_file replace_file_content multi_replace_file_content editor insert_edit insert_edit_into_file edit_files write_code search_replace edit_file
lsp_rename lsp_replace_symbol
                                                 | Edit | write | command=data patterns=pattern diff=data patch=data
str_replace_editor str_replace_based_edit_tool   | Edit | write | command=mode
apply_patch patch git_apply_patch                | Edit | write | command=patch cmd=patch input=patch patch=patch patch_text=patch diff=patch patterns=pattern -=patch
Delete delete_file rm                            | -    | delete |
mkdir create_directory download                  | -    | write |
memory                                           | -    | write | command=mode

LS list list_dir list_directory list_files list_code_definition_names read_project_structure
                                                 | -    | list | *=here patterns=pattern
Glob find_by_name file_search find_files glob_file_search
                                                 | -    | list | *=here pattern=pattern patterns=pattern query=pattern glob_pattern=pattern
Grep rg grep_search grep_files search_file_content search_files search_in_file find_text_in_files search_codebase codebase_search search
SemanticSearch lsp_references lsp_definition lsp_call_hierarchy
                                                 | -    | read | *=here glob=pattern include=pattern include_pattern=pattern includes=pattern file_pattern=pattern glob_pattern=pattern
external_directory                               | -    | use  | patterns=pattern

WebFetch fetch FetchUrl agentic_fetch fetch_webpage fetch_web fetch_web_content read_url_content
                                                 | WebFetch | read | prompt=text patterns=url
open_browser_url open_url read_url browser_navigate browser_preview browser_action  | -    | read |
WebSearch google_web_search search_web           | WebSearch | - |
Task Agent subagent use_subagent use_subagents spawn_agent invoke_agent invoke_subagent runSubagent
                                                 | Task | -  | command=data
spawn_agents_on_csv                              | Task | -  | csv_path=read output_csv_path=write

use_mcp_tool mcp_tool_use call_mcp_tool          | -    | -  | *=mcp
access_mcp_resource read_mcp_resource ReadMcpResourceTool read_resource FetchMcpResource
                                                 | -    | read | download_path=write
tool_call                                        | -    | -  | *=call
request_permissions                              | -    | -  | read=read write=write
Skill skills slash_command activate_skill        | -    | -  | args=data command=data
TodoWrite todo_read write_todos todos update_plan TaskOutput BashOutput TaskStop KillShell KillBash TaskCreate TaskUpdate think save_memory
report_intent ExitPlanMode EnterPlanMode plan_mode_respond attempt_completion submit_and_exit ToolSearch CronCreate CronDelete CronList
request_user_input ask_user ask_question ask_followup_question
                                                 | -    | -  |
todo_list knowledge                              | -    | read | command=data modified_files=data
send_message send_input AskUserQuestion          | -    | -  | to=data metadata=data
`

// places are the arguments with the directory in which an agent's own tools work. A tool ignores
// another agent's name for it.
var places = map[string]struct{ command, search string }{
	"claude-code": {"", "path"}, "codex": {"workdir", "dir_path path"}, "copilot": {"", "path paths"}, "gemini": {"dir_path", "dir_path"},
	"cursor": {"working_directory cwd", "path target_directory target_directories relative_workspace_path"}, "qwen": {"directory", "path"},
	"opencode": {"workdir", "path"}, "crush": {"working_dir", "path"}, "windsurf": {"cwd", ""}, "cline": {"", "path"},
	"antigravity": {"Cwd", "DirectoryPath SearchDirectory SearchPath TargetDirectories AbsolutePath"},
	"droid":       {"", "path folder directory_path"}, "kiro": {"", "path"},
}

// KnownAgent returns the agent if its tools are known, and else "", which stands for any of the agents.
func KnownAgent(agent string) string {
	if _, isKnown := places[agent]; !isKnown {
		return ""
	}
	return agent
}

// argumentTable is the meaning of arguments by name, for all tools. The first of several names with one meaning
// is the most specific one. In rules, names of a kind with + are other arguments than the command.
const argumentTable = `
command: command cmd commandline shellcommand script
command+: cmdline bashcommand bash program executable run exec
lines: commands
words: args argv arguments
env: env envs environment environmentvariables envvars
dir: cwd workdir workingdirectory workingdir
file: filepath path absolutepath targetfile notebookpath file filename paths files filepaths filenames targetnotebook fileuri imagepath imagepaths
file: relativepath relativeworkspacepath fullpath sourcepath targetpath destinationpath pathinproject inputfile outputfile filepathlist fileurl location document resource
file: sourcefile destinationfile destfile frompath topath localpath remotepath filespec attachment attachments doc documentpath
file: source src from directory directories directorypath dirpath dir folder folderpath searchpath searchdirectory targetdirectory
file: targetdirectories repositorypath projectpath workspacefolder
write: destination dest dst destpath to newpath movepath outputpath
move: oldpath
url: url urls
uri: uri uris resourceuri
name: name names target targets
data: selector selectors
calls: toolcalls tooluses
`

// tool is an entry of toolTable.
type tool struct {
	known  bool
	common string
	op     FileOp
	shell  Shell // empty: the one of the system
	args   map[string]string
}

// tools has a function for each normalized name in toolTable. An entry is parsed when it is first looked
// up, because a hook starts for each call of an agent.
var tools = sync.OnceValue(func() map[string]func() tool {
	table := make(map[string]func() tool, 512)
	names := ""
	for line := range strings.Lines(toolTable) {
		name, columns, isLast := strings.Cut(line, "|")
		if names += " " + name; !isLast {
			continue // the other columns are in the next line
		}
		parse := sync.OnceValue(func() tool { return parseTool(columns) })
		for name := range strings.FieldsSeq(names) {
			table[normalizeName(name)] = parse
		}
		names = ""
	}
	return table
})

// parseTool reads the columns after the names of a tool.
func parseTool(text string) tool {
	columns := strings.Split(text, "|")
	t := tool{known: true, args: map[string]string{}}
	if t.common = strings.TrimSpace(columns[0]); t.common == "-" {
		t.common = ""
	}
	switch use := strings.TrimSpace(columns[1]); use {
	case "-":
	case string(POSIX), string(PowerShell), string(Cmd):
		t.shell = Shell(use)
	default:
		t.op = FileOp(use)
	}
	for arg := range strings.FieldsSeq(columns[2]) {
		name, kind, _ := strings.Cut(arg, "=")
		if name != "-" {
			name = normalizeName(name)
		}
		t.args[name] = kind
	}
	return t
}

var argumentKinds = sync.OnceValue(func() map[string]string { return namesByKind(argumentTable) })

// namesByKind returns the kind of each name in a table with lines such as "kind: name name".
func namesByKind(table string) map[string]string {
	kinds := map[string]string{}
	for line := range strings.Lines(table) {
		kind, names, _ := strings.Cut(line, ":")
		for name := range strings.FieldsSeq(names) {
			kinds[name] = kind
		}
	}
	return kinds
}

// kindOf returns the meaning of an argument, or "".
func (t tool) kindOf(name string) string {
	name = normalizeName(name)
	if kind, ok := t.args[name]; ok {
		return kind
	}
	kind := strings.TrimSuffix(argumentKinds()[name], "+")
	if isPath := strings.HasSuffix(name, "path") || strings.HasSuffix(name, "file"); kind == "" && isPath && !t.known && name != "xpath" && name != "profile" {
		return "file"
	}
	return kind
}

// modes is the effect of a tool on its file by the value of an argument such as command or mode.
var modes = map[string]FileOp{
	"view": ReadFile, "read": ReadFile, "line": ReadFile, "search": ReadFile, "image": ReadFile, "directory": ListFile,
	"delete": DeleteFile, "remove": DeleteFile,
}

// IsKnownTool reports whether the tool is in the table of native tools, and not a tool of an MCP server.
func (c *Call) IsKnownTool() bool { return c.isKnown }

// HasName reports whether the tool has a common name.
func (c *Call) HasName(name string) bool { return slices.Contains(c.Names, name) }

// NameKind returns the kind of a name in argumentTable, or "".
func NameKind(name string) string { return argumentKinds()[normalizeName(name)] }
