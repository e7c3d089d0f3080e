package risk

import (
	"slices"
	"strings"
)

// kind is what a tool does with its arguments.
type kind int

const (
	other     kind = iota // its arguments may be anything
	shellTool             // runs commands
	pwshTool              // runs commands of PowerShell
	cmdTool               // runs commands of Windows
	writeTool             // changes files
	readTool              // reads files
	fetchTool             // gets pages
	quietTool             // neither; what it is told is for the agent itself
)

var tools = func() map[string]kind {
	m := map[string]kind{}
	for k, names := range map[kind]string{ //nolint:gosec // names of tools, no credentials
		shellTool: "bash shell sh zsh execute exec run_shell_command run_command execute_command terminal local_shell exec_command run_in_terminal shell_command unified_exec run_terminal_cmd run_terminal_command execute_bash developer__shell write_stdin powershell_or_bash monitor runinterminal beforeshellexecution",
		pwshTool:  "powershell pwsh",
		cmdTool:   "cmd command_prompt execute_cmd",
		writeTool: "write edit multiedit multi_edit notebookedit write_file edit_file create_file replace str_replace_editor str_replace_based_edit_tool apply_patch patch write_to_file replace_in_file create fs_write insert_edit_into_file delete_file search_replace delete strreplace applypatch editnotebook write_code new_file replace_file_content multi_replace_file_content createfile editfiles replace_string_in_file download",
		readTool:  "read read_file view read_many_files grep glob ls list_directory search_file_content grep_search file_search list_dir notebookread fs_read open_file cat view_file read_code readfile view_image list_files search_files list_code_definition_names",
		fetchTool: "webfetch web_fetch fetch fetch_url read_url browser_navigate open_url fetchurl read_url_content agentic_fetch fetch_webpage",
		quietTool: "todowrite todo_write todoread task agent askuserquestion exitplanmode enterplanmode websearch web_search google_web_search killshell killbash bashoutput taskoutput taskstop taskcreate taskupdate skill update_plan think save_memory sendmessage slashcommand toolsearch croncreate crondelete cronlist websearch search_web subagent spawn_agent invoke_agent invoke_subagent use_subagent use_subagents runsubagent ask_user ask_followup_question attempt_completion plan_mode_respond write_todos todos report_intent request_user_input activate_skill",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = k
		}
	}
	return m
}()

func kindOf(tool string) kind { return tools[strings.ToLower(tool)] }

var (
	nameDeletes = rule{"tool_name", medium, "Its name says that it deletes something."}
	nameSends   = rule{"tool_name", medium, "Its name says that it sends or publishes something to others."}
	namePays    = rule{"tool_name", high, "Its name says that it moves money or buys something."}
	nameChanges = rule{"tool_name", medium, "Its name says that it runs or changes something on other machines."}
)

// toolName judges a tool that nothing else is known of.
func (j *judge) toolName(tool string, k kind) {
	j.hidden(&source{text: clip(tool)})
	for i := range j.found { // the name is no part of the arguments
		j.found[i].At, j.found[i].Excerpt = "", ""
	}
	if tool == "delete_file" || tool == "delete" {
		j.add(nameDeletes, span{})
	}
	if k != other {
		return
	}
	j.nameSays(tool)
}

// nameSays judges the name of a tool by its words.
func (j *judge) nameSays(tool string) {
	for _, w := range nameWords(tool) {
		switch w {
		case "delete", "remove", "drop", "destroy", "purge", "wipe", "erase", "truncate", "uninstall", "clear", "revoke":
			j.add(nameDeletes, span{})
		case "send", "post", "publish", "tweet", "email", "reply", "share", "invite", "broadcast", "submit":
			j.add(nameSends, span{})
		case "pay", "payment", "transfer", "buy", "purchase", "refund", "charge", "withdraw", "checkout":
			j.add(namePays, span{})
		case "deploy", "restart", "merge", "rollback", "shutdown", "reboot":
			j.add(nameChanges, span{})
		}
	}
}

// nameWords are the words of a tool's name: mcp__mail__sendMessage has three.
func nameWords(tool string) []string {
	tool = clip(tool)
	// A server's name says little.
	if _, after, ok := strings.Cut(strings.TrimPrefix(tool, "mcp__"), "__"); ok {
		tool = after
	} else if _, after, ok := strings.Cut(tool, "/"); ok && strings.HasPrefix(tool, "@") {
		tool = after
	}
	var b strings.Builder
	for i := 0; i < len(tool); i++ {
		c := tool[i]
		upper := c >= 'A' && c <= 'Z'
		if upper && i > 0 && tool[i-1] >= 'a' && tool[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		if isLetter(c) || isDigit(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte(' ')
		}
	}
	return strings.Fields(strings.ToLower(b.String()))
}

var marks = strings.NewReplacer("_", "", "-", "")

// spelled compares names without regard to case and marks: commandLine, CommandLine
// and command_line are one.
func spelled(name string) string {
	return strings.ToLower(marks.Replace(clip(name)))
}

// prose is written for people and models; what stands there does not run.
var prose = []string{
	"description", "prompt", "content", "contents", "text", "message", "body", "title", "summary", "question", "oldstring", "newstring", "patch", "diff", "input",
	"explanation", "reason", "why", "notes", "comment", "todos", "instructions", "newstr", "oldstr", "filetext", "thought", "query", "pattern", "chars", "subject", "justification",
}

// argument judges one string.
func (j *judge) argument(k kind, a argument) {
	name := spelled(a.name)
	switch {
	case isCommandName(name) && k != writeTool && k != readTool && k != quietTool, a.name == "" && (k == shellTool || k == pwshTool || k == cmdTool):
		j.hidden(a.src)
		j.redacted(a.src)
		j.script(a.src, k.dialect(), j.at, 0)
	case isPathName(name):
		j.hidden(a.src)
		j.file(k, a.src)
	case k == other && (name == "toolname" || name == "mcptoolname"): // of a tool that calls others
		j.nameSays(a.src.text)
	case name == "url" || name == "uri":
		j.hidden(a.src)
		j.address(span{a.src, 0, len(a.src.text)})
	case name == "sql" || name == "statement" || k == other && name == "query":
		j.sql(a.src)
	case k == writeTool && (name == "input" || name == "patch") && strings.HasPrefix(a.src.text, "*** Begin Patch"):
		j.patch(a.src)
	case k == other && !slices.Contains(prose, name):
		j.maybeCommand(a.src)
	}
}

func (k kind) dialect() dialect {
	switch k {
	case pwshTool:
		return powershell
	case cmdTool:
		return cmd
	default:
		return posix
	}
}

func isCommandName(name string) bool {
	switch name {
	case "command", "cmd", "commandline", "script", "commands", "shellcommand", "bashcommand":
		return true
	}
	return false
}

func isPathName(name string) bool {
	switch name {
	case "filepath", "path", "file", "filename", "notebookpath", "targetfile", "absolutepath", "destination", "dest", "filepaths", "paths", "files", "targetnotebook", "fileuri":
		return true
	}
	return false
}

// file judges a path that a tool reads or writes.
func (j *judge) file(k kind, src *source) {
	w := word{span: span{src, 0, len(src.text)}, text: src.text, bare: true}
	switch k {
	case writeTool:
		if _, ok := secretFile(w.text); ok {
			j.add(rule{"overwrite", medium, "It changes a file that usually holds passwords or tokens."}, w.span)
		}
		j.writes(j.cwd, &w, w.span)
	case readTool, other:
		if bad, ok := secretFile(w.text); ok {
			j.add(bad, w.span)
		}
	}
}

// patch judges the files that a patch names.
func (j *judge) patch(src *source) {
	at := 0
	for line := range strings.Lines(src.text) {
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark); ok {
				w := word{span: span{src, at + len(mark), at + len(mark) + len(name)}, text: name, bare: true}
				j.writes(j.cwd, &w, w.span)
			}
		}
		at += len(line)
	}
}

// maybeCommand judges a text of an unknown tool as a command, if it reads like
// one: that is, if reading it as one finds something and meets nothing odd.
func (j *judge) maybeCommand(src *source) {
	first, _, spaced := strings.Cut(strings.TrimSpace(src.text), " ")
	name := programName(first, posix)
	if !spaced || len(programs[name])+len(patterns[name]) == 0 {
		return
	}
	try := &judge{place: j.place, words: j.words, bytes: j.bytes, looks: j.looks, assigned: map[string]bool{}}
	try.script(src, posix, nil, 0)
	j.words, j.bytes, j.looks = try.words, try.bytes, try.looks
	for _, f := range try.found {
		if f.Code == unreadable.code {
			return
		}
	}
	j.found = append(j.found, try.found...)
}

// list judges the strings of a list: under a command's name it is a program with
// its arguments, as execve takes them.
func (j *judge) list(k kind, name string, texts []*source) {
	plain := spelled(name)
	runs := (isCommandName(plain) || plain == "argv") && k != writeTool && k != readTool && k != quietTool
	if !runs || plain == "commands" || len(texts) == 1 { // one command line each
		for _, text := range texts {
			j.argument(k, argument{name, text})
		}
		return
	}
	c := &command{scope: &scope{parent: j.at}}
	for _, text := range texts {
		j.hidden(text)
		if j.words--; j.words < 0 {
			j.add(unreadable, span{})
			break
		}
		c.words = append(c.words, word{span: span{text, 0, len(text.text)}, text: text.text})
	}
	if len(c.words) > 0 {
		c.span = c.words[0].span
		j.command(c, k.dialect(), 0)
	}
}
