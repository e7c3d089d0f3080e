package risk

import (
	"slices"
	"strings"
)

// toolKind classifies a tool by the effect of its arguments.
type toolKind int

const (
	otherTool    toolKind = iota // unknown effect
	shellTool                    // runs POSIX shell commands
	pwshTool                     // runs PowerShell commands
	cmdTool                      // runs cmd.exe commands
	writeTool                    // changes files
	readTool                     // reads files
	fetchTool                    // fetches URLs
	internalTool                 // affects only the agent itself
)

var toolKinds = func() map[string]toolKind {
	m := map[string]toolKind{}
	for k, names := range map[toolKind]string{ //nolint:gosec // names of tools, no credentials
		shellTool:    "bash shell sh zsh execute exec run_shell_command run_command execute_command terminal local_shell exec_command run_in_terminal shell_command unified_exec run_terminal_cmd run_terminal_command execute_bash developer__shell write_stdin powershell_or_bash monitor runinterminal beforeshellexecution",
		pwshTool:     "powershell pwsh",
		cmdTool:      "cmd command_prompt execute_cmd",
		writeTool:    "write edit multiedit multi_edit notebookedit write_file edit_file create_file replace str_replace_editor str_replace_based_edit_tool apply_patch patch write_to_file replace_in_file create fs_write insert_edit_into_file delete_file search_replace delete strreplace applypatch editnotebook write_code new_file replace_file_content multi_replace_file_content createfile editfiles replace_string_in_file download",
		readTool:     "read read_file view read_many_files grep glob ls list_directory search_file_content grep_search file_search list_dir notebookread fs_read open_file cat view_file read_code readfile view_image list_files search_files list_code_definition_names",
		fetchTool:    "webfetch web_fetch fetch fetch_url read_url browser_navigate open_url fetchurl read_url_content agentic_fetch fetch_webpage",
		internalTool: "todowrite todo_write todoread task agent askuserquestion exitplanmode enterplanmode websearch web_search google_web_search killshell killbash bashoutput taskoutput taskstop taskcreate taskupdate skill update_plan think save_memory sendmessage slashcommand toolsearch croncreate crondelete cronlist websearch search_web subagent spawn_agent invoke_agent invoke_subagent use_subagent use_subagents runsubagent ask_user ask_followup_question attempt_completion plan_mode_respond write_todos todos report_intent request_user_input activate_skill",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = k
		}
	}
	return m
}()

func toolKindOf(tool string) toolKind { return toolKinds[strings.ToLower(tool)] }

var (
	nameDeletes = rule{"tool_name", medium, "It deletes something, judging by its name."}
	nameSends   = rule{"tool_name", medium, "It sends or publishes something to others, judging by its name."}
	namePays    = rule{"tool_name", high, "It moves money or buys something, judging by its name."}
	nameChanges = rule{"tool_name", medium, "It runs or changes something on other machines, judging by its name."}
)

// assessToolName assesses the name of a tool. The words of the name matter only for unknown tools.
func (a *assessor) assessToolName(tool string, k toolKind) {
	a.checkHiddenText(&source{text: truncate(tool)})
	for i := range a.findings { // the name is not part of the arguments
		a.findings[i].At, a.findings[i].Excerpt = "", ""
	}
	if tool == "delete_file" || tool == "delete" {
		a.add(nameDeletes, span{})
	}
	if k != otherTool {
		return
	}
	a.assessNameWords(tool)
}

// assessNameWords adds findings for words such as delete or send in a tool's name.
func (a *assessor) assessNameWords(tool string) {
	for _, w := range nameWords(tool) {
		switch w {
		case "delete", "remove", "drop", "destroy", "purge", "wipe", "erase", "truncate", "uninstall", "clear", "revoke":
			a.add(nameDeletes, span{})
		case "send", "post", "publish", "tweet", "email", "reply", "share", "invite", "broadcast", "submit":
			a.add(nameSends, span{})
		case "pay", "payment", "transfer", "buy", "purchase", "refund", "charge", "withdraw", "checkout":
			a.add(namePays, span{})
		case "deploy", "restart", "merge", "rollback", "shutdown", "reboot":
			a.add(nameChanges, span{})
		}
	}
}

// nameWords splits a tool's name into lower-case words: mcp__mail__sendMessage yields send and
// message.
func nameWords(tool string) []string {
	tool = truncate(tool)
	// The name of a server reveals little about its tools.
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

var separators = strings.NewReplacer("_", "", "-", "")

// normalizeName returns name in lower case without separators, so that commandLine, CommandLine and
// command_line compare equal.
func normalizeName(name string) string {
	return strings.ToLower(separators.Replace(truncate(name)))
}

// proseArguments are names of arguments with text for people or models, which never runs.
var proseArguments = []string{
	"description", "prompt", "content", "contents", "text", "message", "body", "title", "summary", "question", "oldstring", "newstring", "patch", "diff", "input",
	"explanation", "reason", "why", "notes", "comment", "todos", "instructions", "newstr", "oldstr", "filetext", "thought", "query", "pattern", "chars", "subject", "justification",
}

// assessArgument assesses one string argument.
func (a *assessor) assessArgument(k toolKind, arg argument) {
	name := normalizeName(arg.name)
	switch {
	case isCommandName(name) && k != writeTool && k != readTool && k != internalTool, arg.name == "" && (k == shellTool || k == pwshTool || k == cmdTool):
		a.checkHiddenText(arg.source)
		a.checkRedacted(arg.source)
		a.assessScript(arg.source, k.dialect(), a.callScope, 0)
	case isPathName(name):
		a.checkHiddenText(arg.source)
		a.assessPath(k, arg.source)
	case k == writeTool && changesScripts(arg.source.text):
		a.writesScripts = true
	case k == otherTool && (name == "toolname" || name == "mcptoolname"): // a tool that calls other tools
		a.assessNameWords(arg.source.text)
	case name == "url" || name == "uri":
		a.checkHiddenText(arg.source)
		a.checkURL(k, span{arg.source, 0, len(arg.source.text)})
	case name == "sql" || name == "statement" || k == otherTool && name == "query":
		a.assessSQL(arg.source)
	case k == writeTool && (name == "input" || name == "patch") && strings.HasPrefix(arg.source.text, "*** Begin Patch"):
		a.assessPatch(arg.source)
	case k == otherTool && !slices.Contains(proseArguments, name):
		a.assessPossibleCommand(arg.source)
	}
}

func (k toolKind) dialect() dialect {
	switch k {
	case pwshTool:
		return powershell
	case cmdTool:
		return windowsCmd
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

// assessPath assesses a path that a tool reads or writes.
func (a *assessor) assessPath(k toolKind, src *source) {
	w := shellWord{span: span{src, 0, len(src.text)}, text: src.text, bare: true}
	if isHubFile(src.text) {
		a.add(changesHub, w.span)
	}
	switch k {
	case writeTool:
		if isPackageFile(src.text) {
			a.packageFile = &w.span
		}
		if _, ok := classifySecretFile(w.text); ok {
			a.add(rule{"overwrite", medium, "It changes a file that usually contains passwords or tokens."}, w.span)
		}
		a.checkWrite(a.cwd, &w, w.span)
	case readTool, otherTool:
		if found, ok := classifySecretFile(w.text); ok {
			a.add(found, w.span)
		}
	}
}

// assessPatch assesses the paths that a patch names.
func (a *assessor) assessPatch(src *source) {
	at := 0
	inPackage := false
	for line := range strings.Lines(src.text) {
		if inPackage && strings.HasPrefix(line, "+") && changesScripts(line) {
			a.add(runsLater, span{src, at, at + len(strings.TrimRight(line, "\r\n"))})
		}
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark); ok {
				w := shellWord{span: span{src, at + len(mark), at + len(mark) + len(name)}, text: name, bare: true}
				a.checkWrite(a.cwd, &w, w.span)
				inPackage = isPackageFile(name)
			}
		}
		at += len(line)
	}
}

// assessPossibleCommand assesses a string of an unknown tool as a command if it starts with a known
// program. Findings count only if the whole text parses as a command.
func (a *assessor) assessPossibleCommand(src *source) {
	first, _, spaced := strings.Cut(strings.TrimSpace(src.text), " ")
	name := programName(first, posix)
	if !spaced || len(programHandlers[name])+len(patternsByProgram[name]) == 0 {
		return
	}
	trial := &assessor{workingDir: a.workingDir, wordBudget: a.wordBudget, byteBudget: a.byteBudget, pipeBudget: a.pipeBudget, assigned: map[string]bool{}}
	trial.assessScript(src, posix, nil, 0)
	a.wordBudget, a.byteBudget, a.pipeBudget = trial.wordBudget, trial.byteBudget, trial.pipeBudget
	for _, f := range trial.findings {
		if f.Code == unreadable.code && trial.wordBudget >= 0 && trial.byteBudget >= 0 {
			return
		}
	}
	a.findings = append(a.findings, trial.findings...)
}

// assessList assesses an array of strings. Under the name of a command it is a program and its
// arguments, as in execve.
func (a *assessor) assessList(k toolKind, name string, texts []*source) {
	plain := normalizeName(name)
	runs := (isCommandName(plain) || plain == "argv") && k != writeTool && k != readTool && k != internalTool
	if !runs || plain == "commands" || len(texts) == 1 { // one command line per element
		for _, text := range texts {
			a.assessArgument(k, argument{name, text})
		}
		return
	}
	c := &command{scope: &scope{parent: a.callScope}}
	for _, text := range texts {
		a.checkHiddenText(text)
		if a.wordBudget--; a.wordBudget < 0 {
			a.add(unreadable, span{})
			break
		}
		c.words = append(c.words, shellWord{span: span{text, 0, len(text.text)}, text: text.text})
	}
	if len(c.words) > 0 {
		c.span = c.words[0].span
		a.assessCommand(c, k.dialect(), 0)
	}
}
