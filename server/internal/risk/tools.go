package risk

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/risk/oversight"
)

var (
	nameDeletes = rule{"tool_name", medium, "It deletes something, judging by its name."}
	nameSends   = rule{"tool_name", medium, "It sends or publishes something to others, judging by its name."}
	namePays    = rule{"tool_name", high, "It moves money or buys something, judging by its name."}
	nameChanges = rule{"tool_name", medium, "It runs or changes something on other machines, judging by its name."}

	duplicateKey     = rule{"obfuscated", high, "It contains the same argument twice. Which value applies depends on the parser."}
	secondName       = rule{"obfuscated", high, "It contains the same argument under two names. Which one applies depends on the agent."}
	tooManyArguments = rule{"unreadable", high, "It has more arguments than the rules can check. Read it carefully yourself."}
	changesSecret    = rule{"overwrite", medium, "It changes a file that usually contains passwords or tokens."}
)

// assessCall assesses the call: its name, its arguments and its commands.
func (a *assessor) assessCall() {
	a.assessToolName()
	var texts []call.Text
	all := a.call.EachText(func(t call.Text) {
		a.strings[t.Span.Pointer] = t.Text
		texts = append(texts, t)
	})
	if !all {
		a.add(tooManyArguments, call.Span{})
	}
	a.checkMembers()
	places := a.places()
	for i := range texts {
		a.assessText(&texts[i], places)
	}
	for i := range a.call.Files {
		a.assessFile(&a.call.Files[i], places)
	}
	a.assessPackage(texts)
	a.assessCommands()
	a.checkUnread()
}

// place is what a string of the arguments is.
type place int

const (
	otherText place = iota
	commandText
	pathText
	addressText
)

// places returns the strings of the arguments that the reading found a meaning in.
func (a *assessor) places() map[string]place {
	all := map[string]place{}
	for i := range a.call.Files {
		all[a.call.Files[i].Span.Pointer] = pathText
	}
	for i := range a.call.Hosts {
		all[a.call.Hosts[i].Span.Pointer] = addressText
	}
	for i := range a.call.Lines {
		all[a.call.Lines[i].Span.Pointer] = commandText
	}
	return all
}

// placeOf returns what the string at a place is, or the list that it is in.
func placeOf(places map[string]place, at call.Span) place {
	list := at.Pointer[:max(0, strings.LastIndexByte(at.Pointer, '/'))]
	if is := places[list]; is == commandText && list != "" || places[at.Pointer] == otherText {
		return is
	}
	return places[at.Pointer]
}

// assessToolName assesses the name of a tool. The words of the name matter only for unknown tools.
func (a *assessor) assessToolName() {
	tool := call.Text{Text: truncate(a.call.Tool)}
	a.checkHiddenText(&tool)
	for i := range a.findings { // the name is not part of the arguments
		a.findings[i].At, a.findings[i].Excerpt = "", ""
	}
	if a.call.IsKnownTool() {
		if slices.ContainsFunc(a.call.Files, func(f call.File) bool { return f.Op == call.DeleteFile && len(a.call.Lines) == 0 }) {
			a.add(nameDeletes, call.Span{})
		}
	} else {
		a.assessNameWords(a.call.Tool)
	}
	for _, name := range a.call.Names {
		if strings.HasPrefix(name, "mcp__") { // also of the one that another tool calls
			a.assessNameWords(name)
		}
	}
}

// assessNameWords adds findings for words such as delete or send in a tool's name.
func (a *assessor) assessNameWords(tool string) {
	for _, w := range nameWords(tool) {
		switch w {
		case "read", "get", "list", "search", "view", "find", "stat", "info", "tree", "show":
			a.toolReads = true
		case "delete", "remove", "drop", "destroy", "purge", "wipe", "erase", "truncate", "uninstall", "clear", "revoke":
			a.add(nameDeletes, call.Span{})
		case "send", "post", "publish", "tweet", "email", "reply", "share", "invite", "broadcast", "submit":
			a.add(nameSends, call.Span{})
		case "pay", "payment", "transfer", "buy", "purchase", "refund", "charge", "withdraw", "checkout":
			a.add(namePays, call.Span{})
		case "deploy", "restart", "merge", "rollback", "shutdown", "reboot":
			a.add(nameChanges, call.Span{})
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

// proseArguments are names of arguments with text for people or models, which never runs.
var proseArguments = []string{
	"description", "prompt", "content", "contents", "text", "message", "body", "title", "summary", "question", "oldstring", "newstring", "patch", "diff", "input",
	"explanation", "reason", "why", "notes", "comment", "todos", "instructions", "newstr", "oldstr", "filetext", "thought", "query", "pattern", "chars", "subject", "justification",
}

// assessText assesses one string of the arguments.
func (a *assessor) assessText(t *call.Text, places map[string]place) {
	switch is := placeOf(places, t.Span); {
	case is == commandText:
		a.checkHiddenText(t)
		a.checkRedacted(t)
		if at := strings.Index(t.Text, ":(){"); at >= 0 {
			a.add(forkBomb, span(t, at, min(len(t.Text), at+16)))
		}
	case is == pathText:
		a.checkHiddenText(t)
	case is == addressText && !strings.ContainsAny(t.Text, " \n"):
		a.checkHiddenText(t)
		a.checkURL(t)
	case t.Name == "sql" || t.Name == "statement" || !a.call.IsKnownTool() && t.Name == "query":
		a.assessSQL(t)
	case !a.call.IsKnownTool() && !slices.Contains(proseArguments, t.Name):
		a.assessOther(t)
	}
}

// assessOther assesses a string of an unknown tool that may be a path or a command.
func (a *assessor) assessOther(t *call.Text) {
	switch {
	case oversight.IsHubFile(a.CWD, t.Text):
		a.add(changesHub, t.Span)
	case !a.toolReads && oversight.IsPath(a.CWD, t.Text):
		a.add(changesHooks, t.Span)
	case oversight.NamesHubRoute(t.Text, true) && oversight.MayChange(t.Text):
		a.add(answersHub, t.Span)
	case t.Name == "code" || t.Name == "script" || t.Name == "function" || t.Name == "expression":
		a.checkOversightInCode(t.Text, t.Span)
	}
	a.assessPossibleCommand(t)
}

// assessFile assesses a file in the arguments. Those of commands are assessed by their programs, except
// for the files of a patch.
func (a *assessor) assessFile(f *call.File, places map[string]place) {
	if placeOf(places, f.Span) == commandText && a.programAt(f.Span) != "apply_patch" {
		return
	}
	found, isSecret := classifySecretFile(a.CWD, f.Path)
	isHub := oversight.IsHubFile(a.CWD, f.Path)
	if isHub {
		a.add(changesHub, f.Span)
	}
	switch f.Op {
	case call.WriteFile, call.DeleteFile, call.MoveFile:
		if isSecret {
			a.add(changesSecret, f.Span)
		}
		if !isHub {
			a.checkWrite(a.CWD, &call.Word{Text: f.Path, Span: f.Span}, f.Span)
		}
	case call.UseFile:
		if !a.toolReads && !isHub && oversight.IsPath(a.CWD, f.Path) {
			a.add(changesHooks, f.Span)
		}
		fallthrough
	default:
		if isSecret {
			a.add(found, f.Span)
		}
	}
}

// programAt returns the program of the innermost command at a place.
func (a *assessor) programAt(sp call.Span) (name string) {
	for i := range a.call.Commands {
		if c := &a.call.Commands[i]; c.Span.Pointer == sp.Pointer && c.Span.From <= sp.From && sp.To <= c.Span.To ||
			c.Span.To == 0 && strings.HasPrefix(sp.Pointer, c.Span.Pointer+"/") { // a list of words
			name = commandName(c)
		}
	}
	return name
}

// assessPackage adds a finding if the call writes commands into a package.json.
func (a *assessor) assessPackage(texts []call.Text) {
	at := slices.IndexFunc(a.call.Files, func(f call.File) bool { return f.Op == call.WriteFile && paths.IsPackageFile(f.Path) })
	if at < 0 {
		return
	}
	file := a.call.Files[at].Span
	for i := range texts {
		t := &texts[i]
		switch isPatch := strings.Contains(t.Text, "*** Begin Patch"); {
		case isPatch:
			a.assessPatchedPackage(t)
		case t.Span.Pointer != file.Pointer && paths.ChangesScripts(t.Text):
			a.add(runsLater, file)
			return
		}
	}
}

// assessPatchedPackage adds a finding for the lines that a patch adds to a package.json.
func (a *assessor) assessPatchedPackage(t *call.Text) {
	at := 0
	inPackage := false
	for line := range strings.Lines(t.Text) {
		if name, ok := strings.CutPrefix(line, "*** "); ok {
			inPackage = paths.IsPackageFile(strings.TrimSpace(name[strings.Index(name, ":")+1:]))
		}
		if inPackage && strings.HasPrefix(line, "+") && paths.ChangesScripts(line) {
			a.add(runsLater, span(t, at, at+len(strings.TrimRight(line, "\r\n"))))
		}
		at += len(line)
	}
}

// assessPossibleCommand assesses a string of an unknown tool as a command if it starts with a known
// program. Findings count only if the whole text is a command.
func (a *assessor) assessPossibleCommand(t *call.Text) {
	first, _, spaced := strings.Cut(strings.TrimSpace(t.Text), " ")
	name := programName(first, call.POSIX)
	if !spaced || len(programHandlers[name])+len(patternsByProgram[name]) == 0 && oversight.Program(first) == "" {
		return
	}
	read := call.ReadLineAt(t.Text, t.Span, a.CWD)
	if slices.ContainsFunc(read.Unread, func(u call.Unread) bool { return strings.HasPrefix(u.Reason, notShell) }) {
		return
	}
	trial := newAssessor(read, a.CWD)
	trial.WorkingDir, trial.strings = a.WorkingDir, a.strings
	trial.assessCommands()
	trial.checkUnread()
	a.findings = append(a.findings, trial.findings...)
}

// notShell begins the reason of a text that no shell can read.
const notShell = "a shell can't read it"

// checkUnread adds a finding for each unread part of the call, unless another one is about it already.
func (a *assessor) checkUnread() {
	for i := range a.call.Unread {
		u := &a.call.Unread[i]
		found := rule{"unreadable", medium, "It can't be read completely: " + u.Reason + "."}
		switch {
		case strings.HasPrefix(u.Reason, notShell), strings.HasPrefix(u.Reason, "its arguments"),
			strings.Contains(u.Reason, "nested too"), strings.Contains(u.Reason, "longer than"), strings.Contains(u.Reason, "more than"):
			found = unreadable
		case strings.Contains(u.Reason, "known only at run time"):
			continue // the rules about dynamic programs and scripts have more
		}
		told := func(f schema.Finding) bool {
			return severity(f.Risk) >= severity(found.risk) && slices.Contains([]string{"obfuscated", "pipe_to_shell", unreadable.code}, f.Code)
		}
		if !slices.ContainsFunc(a.findings, told) {
			a.add(found, u.Span)
		}
	}
}

// checkMembers adds a finding for arguments that are there more than once.
func (a *assessor) checkMembers() {
	a.call.EachObject(func(at string, names []string) {
		seen, spelled := map[string]bool{}, map[string]bool{}
		for _, name := range names {
			switch plain := call.NormalizeName(name); {
			case seen[name]:
				a.add(duplicateKey, call.Span{Pointer: at})
			case spelled[plain] && (at == "" || call.NameKind(plain) != ""):
				a.add(secondName, call.Span{Pointer: at})
			default:
				seen[name], spelled[plain] = true, true
			}
		}
	})
	if a.hasSynonyms() {
		a.add(secondName, call.Span{})
	}
}

// hasSynonyms reports whether more than one argument is the command that a shell tool runs, or the file
// that a tool reads or writes.
func (a *assessor) hasSynonyms() bool {
	commands, files := map[string]bool{}, map[string]bool{}
	member := func(sp call.Span) string {
		name, _, _ := strings.Cut(strings.TrimPrefix(sp.Pointer, "/"), "/")
		return name
	}
	for i := range a.call.Lines {
		commands[member(a.call.Lines[i].Span)] = true
	}
	for i := range a.call.Files {
		if f := &a.call.Files[i]; f.Op == a.call.Files[0].Op {
			files[member(f.Span)] = true
		}
	}
	switch {
	case !a.call.IsKnownTool():
		return false
	case a.call.HasName("Bash"):
		return len(commands) > 1
	default:
		return len(files) > 1 && (a.call.HasName("Read") || a.call.HasName("Write") || a.call.HasName("Edit"))
	}
}

// checkURL assesses the address of a tool that fetches pages.
func (a *assessor) checkURL(t *call.Text) {
	u, err := url.Parse(strings.TrimSpace(t.Text))
	if err != nil {
		return
	}
	host := u.Hostname()
	switch {
	case oversight.NamesHubRoute(u.Path, !a.call.HasName("WebFetch")):
		a.add(answersHub, t.Span)
	case host == "169.254.169.254" || host == "metadata.google.internal":
		a.add(readsMetadata, t.Span)
	case strings.Contains(host, "xn--"):
		a.add(lookAlike, t.Span)
	}
}
