package risk

import (
	"encoding/json"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What separates, pipes, redirects, groups or substitutes in a shell, wherever it
// stands: the text may be meant for a shell inside the shell (bash -c "…"), and
// cmd.exe knows no single quotes. And what cmd.exe and PowerShell have besides.
const (
	shellMetacharacters   = ";&|<>`$(){}"
	windowsMetacharacters = `%^!\`
)

// maxSimpleWords is how many words a simple command has at most.
const maxSimpleWords = 256

// ParseSimpleCommand returns the words of a command line of a tool, quotes taken away, when it is
// one simple command and nothing else: no separator, pipe, redirect, substitution,
// variable, comment or line end, nothing before it and nothing that isn't seen. It is
// strict on purpose: a quoted semicolon is no simple command either, which costs a
// question; the other mistake would cost more. cwd tells commands of Windows.
func ParseSimpleCommand(tool, text, cwd string) (words []string, ok bool) {
	d := toolKindOf(tool).dialect()
	windows := d != posix || strings.ContainsRune(cwd, '\\') || len(cwd) > 1 && cwd[1] == ':'
	if len(text) > maxProgramPath || strings.ContainsAny(text, shellMetacharacters) || windows && strings.ContainsAny(text, windowsMetacharacters) || !IsPlainText(text) {
		return nil, false
	}
	if n := len(text) - len(strings.TrimRight(text, `\`)); n%2 == 1 { // it goes on where nobody looked
		return nil, false
	}
	left := maxSimpleWords
	commands, errPos := parse(&source{text: text}, d, &left, nil)
	if errPos >= 0 || len(commands) != 1 || strings.HasPrefix(text, "#") || strings.Contains(text, " #") {
		return nil, false
	}
	c := commands[0]
	if len(c.assigns) > 0 || len(c.redirects) > 0 || len(c.words) == 0 {
		return nil, false
	}
	if c.words[0].from != len(text)-len(strings.TrimLeft(text, " ")) { // behind time, if, ! and the like
		return nil, false
	}
	for i := range c.words {
		w := &c.words[i]
		if w.isDynamic() || w.process || w.obfuscated {
			return nil, false
		}
		words = append(words, w.text)
	}
	return words, true
}

// IsPlainText reports whether a text is what a person sees: without control characters and
// line ends, formatting, and the wide forms that Windows takes for others.
func IsPlainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) ||
			r == utf8.RuneError || r >= 0xFF01 && r <= 0xFF5E
	})
}

// RunsCommands reports whether a tool's business is to run what it is given.
func RunsCommands(tool string) bool {
	k := toolKindOf(tool)
	return k == shellTool || k == pwshTool || k == cmdTool
}

// IsCommand reports whether an argument of a tool is a command line, going by its
// name.
func IsCommand(tool, argument string) bool {
	switch toolKindOf(tool) {
	case writeTool, readTool, internalTool:
		return false
	default:
		return isCommandName(normalizeName(argument))
	}
}

// WorkingDir is where a call runs: cwd, or the folder that the call itself names for its
// command; empty when nobody knows.
func WorkingDir(tool string, arguments json.RawMessage, cwd string) string {
	at := newWorkingDir(cwd).cwd
	if !RunsCommands(tool) {
		return at
	}
	for _, to := range callDirs(arguments) {
		switch {
		case isAbsolute(to):
			at = path.Clean(to)
		case at != "":
			at = path.Join(at, to)
		}
	}
	return at
}

// callDirs are those that a call of a shell names for its command.
func callDirs(arguments json.RawMessage) (named []string) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &members)
	for name, raw := range members {
		var to string
		switch normalizeName(name) {
		case "cwd", "workdir", "workingdir", "workingdirectory", "directory", "dirpath":
			_ = json.Unmarshal(raw, &to)
		}
		if to = toSlashes(to); to != "" && len(to) <= maxPath {
			named = append(named, to)
		}
	}
	return named
}
