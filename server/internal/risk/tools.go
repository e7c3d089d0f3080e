package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/server/internal/risk/call"
	"github.com/hookback/hookback/server/internal/risk/oversight"
	"github.com/hookback/hookback/server/internal/risk/paths"
	"github.com/hookback/hookback/server/internal/risk/shell"
)

var (
	nameDeletes = rule{"tool_name", medium, "It deletes something, judging by its name."}
	nameSends   = rule{"tool_name", medium, "It sends or publishes something to others, judging by its name."}
	namePays    = rule{"tool_name", high, "It moves money or buys something, judging by its name."}
	nameChanges = rule{"tool_name", medium, "It runs or changes something on other machines, judging by its name."}
)

// assessToolName assesses the name of a tool. The words of the name matter only for unknown tools.
func (a *assessor) assessToolName(tool string, k call.Kind) {
	a.checkHiddenText(&shell.Source{Text: shell.Truncate(tool)})
	for i := range a.findings { // the name is not part of the arguments
		a.findings[i].At, a.findings[i].Excerpt = "", ""
	}
	if tool == "delete_file" || tool == "delete" {
		a.add(nameDeletes, shell.Span{})
	}
	if k != call.Other {
		return
	}
	a.assessNameWords(tool)
}

// assessNameWords adds findings for words such as delete or send in a tool's name.
func (a *assessor) assessNameWords(tool string) {
	for _, w := range nameWords(tool) {
		switch w {
		case "read", "get", "list", "search", "view", "find", "stat", "info", "tree", "show":
			a.toolReads = true
		case "delete", "remove", "drop", "destroy", "purge", "wipe", "erase", "truncate", "uninstall", "clear", "revoke":
			a.add(nameDeletes, shell.Span{})
		case "send", "post", "publish", "tweet", "email", "reply", "share", "invite", "broadcast", "submit":
			a.add(nameSends, shell.Span{})
		case "pay", "payment", "transfer", "buy", "purchase", "refund", "charge", "withdraw", "checkout":
			a.add(namePays, shell.Span{})
		case "deploy", "restart", "merge", "rollback", "shutdown", "reboot":
			a.add(nameChanges, shell.Span{})
		}
	}
}

// nameWords splits a tool's name into lower-case words: mcp__mail__sendMessage yields send and
// message.
func nameWords(tool string) []string {
	tool = shell.Truncate(tool)
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
		if shell.IsLetter(c) || shell.IsDigit(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte(' ')
		}
	}
	return strings.Fields(strings.ToLower(b.String()))
}

// proseArguments are names of arguments with text for people or models, which never runs.
var proseArguments = []string{
	"description", "prompt", "content", "contents", "text", "message", "body", "title", "summary", "question", "oldstring", "newstring", "patch", "diff", "input",
	"explanation", "reason", "why", "notes", "comment", "todos", "instructions", "newstr", "oldstr", "filetext", "thought", "query", "pattern", "chars", "subject", "justification",
}

// assessArgument assesses one string argument.
func (a *assessor) assessArgument(k call.Kind, arg argument) {
	name := call.NormalizeName(arg.name)
	switch {
	case call.IsCommandName(name) && k != call.Write && k != call.Read && k != call.Internal,
		arg.name == "" && (k == call.Shell || k == call.PowerShell || k == call.Cmd):
		a.checkHiddenText(arg.source)
		a.checkRedacted(arg.source)
		a.assessScript(arg.source, k.Dialect(), a.callScope, 0)
	case call.IsPathName(name):
		a.checkHiddenText(arg.source)
		a.assessPath(k, arg.source)
	case k == call.Write && paths.ChangesScripts(arg.source.Text):
		a.writesScripts = true
	case k == call.Other && (name == "toolname" || name == "mcptoolname"): // a tool that calls other tools
		a.assessNameWords(arg.source.Text)
	case name == "url" || name == "uri":
		a.checkHiddenText(arg.source)
		a.checkURL(k, arg.source.Whole())
	case name == "sql" || name == "statement" || k == call.Other && name == "query":
		a.assessSQL(arg.source)
	case k == call.Write && (name == "input" || name == "patch") && strings.HasPrefix(arg.source.Text, "*** Begin Patch"):
		a.assessPatch(arg.source)
	case k == call.Other && !slices.Contains(proseArguments, name):
		a.checkOversightPath(k, arg.source)
		a.assessPossibleCommand(arg.source)
	}
}

// assessPath assesses a path that a tool reads or writes.
func (a *assessor) assessPath(k call.Kind, src *shell.Source) {
	w := shell.Word{Span: src.Whole(), Text: src.Text, Bare: true}
	a.checkOversightPath(k, src)
	switch k {
	case call.Write:
		if paths.IsPackageFile(src.Text) {
			a.packageFile = &w.Span
		}
		if _, ok := classifySecretFile(a.CWD, w.Text); ok {
			a.add(rule{"overwrite", medium, "It changes a file that usually contains passwords or tokens."}, w.Span)
		}
		a.checkWrite(a.CWD, &w, w.Span)
	case call.Read, call.Other:
		if found, ok := classifySecretFile(a.CWD, w.Text); ok {
			a.add(found, w.Span)
		}
	}
}

// checkOversightPath adds a finding if a path of a tool is a file of the hub, or if an unknown tool may
// change one that decides whether agents ask.
func (a *assessor) checkOversightPath(k call.Kind, src *shell.Source) {
	switch {
	case oversight.IsHubFile(a.CWD, src.Text):
		a.add(changesHub, src.Whole())
	case k == call.Other && !a.toolReads && oversight.IsPath(a.CWD, src.Text):
		a.add(changesHooks, src.Whole())
	}
}

// assessPatch assesses the paths that a patch names.
func (a *assessor) assessPatch(src *shell.Source) {
	at := 0
	inPackage := false
	for line := range strings.Lines(src.Text) {
		if inPackage && strings.HasPrefix(line, "+") && paths.ChangesScripts(line) {
			a.add(runsLater, src.Slice(at, at+len(strings.TrimRight(line, "\r\n"))))
		}
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), mark); ok {
				w := shell.Word{Span: src.Slice(at+len(mark), at+len(mark)+len(name)), Text: name, Bare: true}
				a.checkWrite(a.CWD, &w, w.Span)
				inPackage = paths.IsPackageFile(name)
			}
		}
		at += len(line)
	}
}

// assessPossibleCommand assesses a string of an unknown tool as a command if it starts with a known
// program. Findings count only if the whole text parses as a command.
func (a *assessor) assessPossibleCommand(src *shell.Source) {
	first, _, spaced := strings.Cut(strings.TrimSpace(src.Text), " ")
	name := programName(first, shell.POSIX)
	if !spaced || len(programHandlers[name])+len(patternsByProgram[name]) == 0 && oversight.Program(first) == "" {
		return
	}
	trial := &assessor{
		WorkingDir: a.WorkingDir, wordBudget: a.wordBudget, byteBudget: a.byteBudget, pipeBudget: a.pipeBudget,
		assigned: map[string]bool{}, hubProcesses: map[string]bool{},
	}
	trial.assessScript(src, shell.POSIX, nil, 0)
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
func (a *assessor) assessList(k call.Kind, name string, texts []*shell.Source) {
	plain := call.NormalizeName(name)
	runs := (call.IsCommandName(plain) || plain == "argv") && k != call.Write && k != call.Read && k != call.Internal
	if !runs || plain == "commands" || len(texts) == 1 { // one command line per element
		for _, text := range texts {
			a.assessArgument(k, argument{name, text})
		}
		return
	}
	c := &shell.Command{Scope: &shell.Scope{Parent: a.callScope}}
	for _, text := range texts {
		a.checkHiddenText(text)
		if a.wordBudget--; a.wordBudget < 0 {
			a.add(unreadable, shell.Span{})
			break
		}
		c.Words = append(c.Words, shell.Word{Span: text.Whole(), Text: text.Text})
	}
	if len(c.Words) > 0 {
		c.Span = c.Words[0].Span
		a.assessCommand(c, k.Dialect(), 0)
	}
}
