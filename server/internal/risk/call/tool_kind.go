// Package call reads tool calls: the kind of a tool, its single command, and whether the call is
// known to change nothing.
package call

import (
	"strings"

	"github.com/hookback/hookback/server/internal/risk/shell"
)

// Kind classifies a tool by the effect of its arguments.
type Kind int

const (
	Other      Kind = iota // unknown effect
	Shell                  // runs POSIX shell commands
	PowerShell             // runs PowerShell commands
	Cmd                    // runs cmd.exe commands
	Write                  // changes files
	Read                   // reads files
	Fetch                  // fetches URLs
	Internal               // affects only the agent itself
)

var toolKinds = func() map[string]Kind {
	m := map[string]Kind{}
	for k, names := range map[Kind]string{ //nolint:gosec // names of tools, no credentials
		Shell:      "bash shell sh zsh execute exec run_shell_command run_command execute_command terminal local_shell exec_command run_in_terminal shell_command unified_exec run_terminal_cmd run_terminal_command execute_bash run_commands developer__shell write_stdin powershell_or_bash monitor runinterminal beforeshellexecution",
		PowerShell: "powershell pwsh",
		Cmd:        "cmd command_prompt execute_cmd",
		Write:      "write edit multiedit multi_edit notebookedit write_file edit_file create_file replace str_replace_editor str_replace_based_edit_tool editor apply_patch patch write_to_file replace_in_file create fs_write insert_edit_into_file delete_file search_replace delete strreplace applypatch editnotebook write_code new_file replace_file_content multi_replace_file_content createfile editfiles replace_string_in_file download",
		Read:       "read read_file read_files search_codebase view read_many_files grep glob ls list_directory search_file_content grep_search file_search list_dir notebookread fs_read open_file cat view_file read_code readfile view_image list_files search_files list_code_definition_names",
		Fetch:      "webfetch web_fetch fetch fetch_url read_url browser_navigate open_url fetchurl read_url_content agentic_fetch fetch_webpage fetch_web_content",
		Internal:   "todowrite todo_write todoread task agent askuserquestion exitplanmode enterplanmode websearch web_search google_web_search killshell killbash bashoutput taskoutput taskstop taskcreate taskupdate skill update_plan think save_memory sendmessage slashcommand toolsearch croncreate crondelete cronlist websearch search_web subagent spawn_agent invoke_agent invoke_subagent use_subagent use_subagents runsubagent ask_user ask_followup_question ask_question submit_and_exit skills attempt_completion plan_mode_respond write_todos todos report_intent request_user_input activate_skill",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = k
		}
	}
	return m
}()

// KindOf returns the kind of a tool by its name, in any case.
func KindOf(tool string) Kind { return toolKinds[strings.ToLower(tool)] }

var separators = strings.NewReplacer("_", "", "-", "")

// NormalizeName returns name in lower case without separators, so that commandLine, CommandLine and
// command_line compare equal.
func NormalizeName(name string) string {
	return strings.ToLower(separators.Replace(shell.Truncate(name)))
}

// IsPlan reports whether a tool presents the agent's plan.
func IsPlan(tool string) bool {
	switch NormalizeName(tool) {
	case "exitplanmode", "planmoderespond":
		return true
	default:
		return false
	}
}

// Dialect returns the dialect of the shell that a tool runs.
func (k Kind) Dialect() shell.Dialect {
	switch k {
	case PowerShell:
		return shell.PowerShell
	case Cmd:
		return shell.WindowsCmd
	default:
		return shell.POSIX
	}
}

// IsCommandName reports whether an argument of this normalized name is a command line.
func IsCommandName(name string) bool {
	switch name {
	case "command", "cmd", "commandline", "script", "commands", "shellcommand", "bashcommand":
		return true
	}
	return false
}

// IsPathName reports whether an argument of this normalized name is a path.
func IsPathName(name string) bool {
	switch name {
	case "filepath", "path", "file", "filename", "notebookpath", "targetfile", "absolutepath", "destination", "dest", "filepaths", "paths", "files", "targetnotebook", "fileuri":
		return true
	}
	return false
}

// Shells are programs that run the script on their standard input.
var Shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "fish": true, "ash": true}
