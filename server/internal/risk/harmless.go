package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/server/internal/risk/oversight"
)

// maxHarmlessCall is the maximum length of the arguments of a harmless call.
const maxHarmlessCall = 16 << 10

// isHarmless reports whether a call is known to change nothing: one simple command that
// programs.Harmless accepts, or a reading tool on paths inside the project. No call is harmless in an
// unknown directory, and none of which a part can't be read. Arguments that are not known to be inert make a
// call unknown.
func isHarmless(c *call.Call, project string) bool {
	dir := programs.WorkingDir{Project: project}
	isKnown := project != "" && dir.Contains(".") && !oversight.IsHubFile("", project+"/x")
	if !isKnown || len(c.Arguments) > maxHarmlessCall || len(c.Unread) > 0 {
		return false
	}
	if sh, runsCommands := call.ShellOf(c.Tool); runsCommands {
		return (sh == "" || sh == call.POSIX) && isHarmlessCommand(c, dir)
	}
	return call.ReadsFiles(c.Tool) && isHarmlessRead(c, dir)
}

// inertArguments are arguments of a shell tool that don't change the effect of its command.
var inertArguments = strings.Fields(`description explanation justification timeout timeoutms timeoutseconds yieldtimems maxoutputtokens
	runinbackground isbackground blocking login tty`)

// isHarmlessCommand assesses a call to a shell tool. The tool may ignore a directory that the call names.
func isHarmlessCommand(c *call.Call, dir programs.WorkingDir) bool {
	for _, m := range c.Root().Members() {
		isKnown := call.IsCommand(c.Tool, m.Name) || call.ArgumentKind(c.Tool, m.Name) == "dir"
		if !isKnown && !slices.Contains(inertArguments, call.NormalizeName(m.Name)) {
			return false
		}
	}
	words, ok := onlyCommand(c)
	if !ok {
		return false
	}
	for _, dir.Dir = range append(c.Dirs, dir.Project) {
		if !dir.Contains(".") || !call.IsHarmless(words, dir) {
			return false
		}
	}
	return true
}

// onlyCommand returns the words of the one simple command that a call runs.
func onlyCommand(c *call.Call) (words []call.Word, ok bool) {
	if len(c.Lines) != 1 || len(c.Commands) == 0 {
		return nil, false
	}
	line := c.Lines[0]
	words = c.Commands[0].Words
	isPlain := func(w call.Word) bool { return programs.IsPlainText(w.Text) }
	isList := line.Span.To == 0 && line.Span.Pointer != "" // of words, which no shell reads
	isScript := isList && len(words) == 3 && isShell(words[0].Text) && (words[1].Text == "-c" || words[1].Text == "-lc")
	switch {
	case isScript:
		return call.SimpleCommand(words[2].Text, call.POSIX)
	case isList:
		return words, !slices.ContainsFunc(words, func(w call.Word) bool { return !isPlain(w) })
	case paths.IsWindows(c.Dir) && strings.ContainsAny(line.Text, call.ShellOperators+call.WindowsOperators+`\`):
		return nil, false
	default:
		return c.SimpleCommand()
	}
}

func isShell(program string) bool {
	return slices.Contains(strings.Fields("sh bash zsh dash ksh fish ash"), program)
}

// isHarmlessRead assesses a call to a tool that reads files: they must be inside the project, and so must
// every other text that may be a path. What a search looks for is no path.
func isHarmlessRead(c *call.Call, dir programs.WorkingDir) bool {
	isRead := func(f call.File) bool { return f.Op == call.ReadFile }
	searches := !slices.Contains(c.Names, "Read")
	for _, m := range c.Root().Members() {
		name := call.NormalizeName(m.Name)
		isText := name == "description" || name == "explanation" || searches && (name == "pattern" || name == "query" || name == "regex")
		isFile := call.ArgumentKind(c.Tool, m.Name) != ""
		selects := call.ArgumentKind(c.Tool, m.Name) == "pattern" && slices.ContainsFunc(c.Files, isRead)
		if widensRead(name) || strings.HasPrefix(m.Name, "--") || !isInert(m.Value, func(text string) bool {
			isOption := strings.HasPrefix(text, "-") // of the program that searches
			return isText || programs.IsPlainText(text) && !isOption && (!selects || programs.IsNamePattern(text)) &&
				(isFile || containsEach(text, dir.Contains))
		}) {
			return false
		}
	}
	for _, f := range c.Files {
		contains := dir.Contains
		switch {
		case f.Op == call.ListFile:
			contains = func(pattern string) bool { return containsListing(dir, pattern) }
		case searches:
			contains = dir.ContainsTree
		}
		given := c.TextAt(f.Span)
		leaves := strings.ContainsAny(given, "*?[{") && hasParentSegment(given)
		if f.Op != call.ReadFile && f.Op != call.ListFile || leaves || !containsEach(f.Path, contains) {
			return false
		}
	}
	return len(c.Commands) == 0 && len(c.Hosts) == 0
}

// widensRead reports whether an argument of this normalized name may make a tool read files that it leaves
// out by default, or run it outside of its sandbox.
func widensRead(name string) bool {
	return name != "ignorecase" && slices.ContainsFunc([]string{"ignore", "hidden", "exclude", "symlink", "sandbox", "permission"},
		func(part string) bool { return strings.Contains(name, part) })
}

// containsListing is programs.WorkingDir.Contains for a tool that lists names: a pattern may match the
// name of a secret.
func containsListing(dir programs.WorkingDir, pattern string) bool {
	if at := strings.IndexAny(pattern, "*?[{"); at >= 0 {
		pattern = pattern[:strings.LastIndexByte(pattern[:at], '/')+1] + "x"
	}
	return dir.Contains(pattern)
}

func hasParentSegment(p string) bool {
	return slices.Contains(strings.FieldsFunc(p, func(r rune) bool { return strings.ContainsRune("/\\{},", r) }), "..")
}

// isInert reports whether a value has no objects and every text in it is accepted.
func isInert(v *call.Value, accept func(string) bool) bool {
	if text, ok := v.Text(); ok {
		return text == "" || accept(text)
	}
	return v.Kind() != call.ObjectKind && !slices.ContainsFunc(v.Members(), func(m call.Member) bool { return !isInert(m.Value, accept) })
}

// containsEach checks each alternative of a pattern such as *.{ts,tsx}.
func containsEach(pattern string, contains func(string) bool) bool {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return contains(pattern)
	}
	list, after, ok := strings.Cut(rest, "}")
	if !ok || strings.ContainsAny(list+after, "{}") {
		return false
	}
	for alternative := range strings.SplitSeq(list, ",") {
		if !contains(before + alternative + after) {
			return false
		}
	}
	return true
}
