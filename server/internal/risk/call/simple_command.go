package call

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/hookback/hookback/agentclient/policy/programs"
	"github.com/hookback/hookback/server/internal/risk/paths"
	"github.com/hookback/hookback/server/internal/risk/shell"
)

// Characters that separate, pipe, redirect, group or substitute in a shell, or that are special in
// cmd.exe or PowerShell. They are rejected even inside quotes: the text may be meant for a nested
// shell (bash -c "…"), and cmd.exe has no single quotes.
const (
	shellMetacharacters   = ";&|<>`$(){}"
	windowsMetacharacters = `%^!\`
)

// maxSimpleWords is the maximum number of words of a simple command.
const maxSimpleWords = 256

// ParseSimpleCommand splits a command line of a tool into words, with quotes removed. ok is false
// unless the text is exactly one simple command: no separator, pipe, redirection, substitution,
// variable, comment or line break, no keyword before it and no invisible character. It is strict on
// purpose. Rejecting a quoted semicolon costs one extra question; accepting a command that runs
// more than it shows would cost more. A Windows path in cwd selects the Windows rules.
func ParseSimpleCommand(tool, text, cwd string) (words []string, ok bool) {
	if strings.ContainsAny(text, shellMetacharacters) {
		return nil, false
	}
	list, ok := SimpleCommand(tool, text, cwd)
	for i := range list {
		words = append(words, list[i].Text)
	}
	return words, ok
}

// SimpleCommand is ParseSimpleCommand for shell words, but accepts metacharacters that every POSIX shell takes
// literally.
func SimpleCommand(tool, text, cwd string) (words []shell.Word, ok bool) {
	d := KindOf(tool).Dialect()
	windows := IsWindows(tool, cwd)
	if len(text) > paths.MaxLength || windows && strings.ContainsAny(text, shellMetacharacters+windowsMetacharacters) ||
		!programs.IsPlainText(text) || hasActiveMetacharacter(text) {
		return nil, false
	}
	if n := len(text) - len(strings.TrimRight(text, `\`)); n%2 == 1 { // a trailing escape continues the command on the next line
		return nil, false
	}
	left := maxSimpleWords
	commands, errPos := shell.Parse(&shell.Source{Text: text}, d, &left, nil)
	if errPos >= 0 || len(commands) != 1 || strings.HasPrefix(text, "#") || strings.Contains(text, " #") {
		return nil, false
	}
	c := commands[0]
	if len(c.Assigns) > 0 || len(c.Redirects) > 0 || len(c.Words) == 0 {
		return nil, false
	}
	if c.Words[0].Text == "[[" { // a keyword: its operators are no words
		return nil, false
	}
	if c.Words[0].From != len(text)-len(strings.TrimLeft(text, " ")) { // preceded by time, if, ! or similar
		return nil, false
	}
	for i := range c.Words {
		w := &c.Words[i]
		if w.IsDynamic() || w.Process || w.Obfuscated {
			return nil, false
		}
	}
	return c.Words, true
}

// hasActiveMetacharacter reports whether a text has a metacharacter that some POSIX shell may act on:
// one outside of quotes, an expansion in double quotes, or a backslash in single quotes, which only
// fish reads as an escape.
func hasActiveMetacharacter(text string) bool {
	var quote byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == '\'':
			if c == '\\' {
				return strings.ContainsAny(text, shellMetacharacters)
			}
			if c == '\'' {
				quote = 0
			}
		case c == '\\':
			if i++; i < len(text) && strings.IndexByte(shellMetacharacters, text[i]) >= 0 {
				return true
			}
		case c == quote:
			quote = 0
		case quote == '"':
			if c == '$' || c == '`' {
				return true
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte(shellMetacharacters, c) >= 0:
			return true
		}
	}
	return quote != 0
}

// IsWindows reports whether a tool's commands run on Windows, judging by the shell and the directory.
func IsWindows(tool, cwd string) bool {
	return KindOf(tool).Dialect() != shell.POSIX || strings.ContainsRune(cwd, '\\') || len(cwd) > 1 && cwd[1] == ':'
}

// RunsCommands reports whether a tool runs command lines.
func RunsCommands(tool string) bool {
	k := KindOf(tool)
	return k == Shell || k == PowerShell || k == Cmd
}

// IsCommand reports whether the name of an argument marks it as a command line.
func IsCommand(tool, argument string) bool {
	switch KindOf(tool) {
	case Write, Read, Internal:
		return false
	default:
		return IsCommandName(NormalizeName(argument))
	}
}

// WorkingDir returns the directory that a call runs in: the one that the call names for its
// command, else cwd. It returns an empty string if the directory is unknown.
func WorkingDir(tool string, arguments json.RawMessage, cwd string) string {
	at := paths.NewWorkingDir(cwd).CWD
	if !RunsCommands(tool) {
		return at
	}
	for _, to := range Dirs(arguments) {
		switch {
		case paths.IsAbsolute(to):
			at = path.Clean(to)
		case at != "":
			at = path.Join(at, to)
		}
	}
	return at
}

// Dirs returns the directories that a call to a shell tool names for its command.
func Dirs(arguments json.RawMessage) (named []string) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &members)
	for name, raw := range members {
		var to string
		switch NormalizeName(name) {
		case "cwd", "workdir", "workingdir", "workingdirectory", "directory", "dirpath":
			_ = json.Unmarshal(raw, &to)
		}
		if to = paths.ToSlashes(to); to != "" && len(to) <= paths.MaxLength {
			named = append(named, to)
		}
	}
	return named
}
