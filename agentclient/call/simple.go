package call

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call/programs"
)

// Characters that separate, pipe, redirect, group or substitute in sh, bash, zsh, fish or PowerShell, and the
// characters that only cmd.exe adds.
const (
	ShellOperators   = ";&|<>`$(){}"
	WindowsOperators = "%^!"
)

const (
	// maxSimpleLength is longer than any path that a system can open.
	maxSimpleLength = 4 << 10
	maxSimpleWords  = 256
)

// SimpleWords returns the words of a command line without their quotes. ok is false unless the line is
// exactly one simple command: no separator, pipe, redirect, substitution, variable, assignment, comment or
// line break, no keyword before it and no invisible character. windows adds what cmd.exe acts on.
//
// It rejects shell operators even inside of quotes: the text may be meant for a nested shell (bash -c "…"),
// and cmd.exe has no single quotes. This costs a question; the opposite error would cost more.
func SimpleWords(text string, sh Shell, windows bool) (words []Word, ok bool) {
	if !IsSimpleText(text, windows) {
		return nil, false
	}
	return SimpleCommand(text, sh)
}

// Texts returns the texts of words.
func Texts(words []Word) []string { return texts(words) }

// IsSimpleText reports whether a text has nothing of which SimpleWords can tell by its characters alone that
// it is no simple command.
func IsSimpleText(text string, windows bool) bool {
	return !strings.ContainsAny(text, ShellOperators) && programs.IsPlainText(text) &&
		(windows && !strings.ContainsAny(text, WindowsOperators) || !windows && !hasActiveOperator(text))
}

// SimpleCommand is SimpleWords without the rule about quotes: it accepts operators that every POSIX shell
// takes literally.
func SimpleCommand(text string, sh Shell) (words []Word, ok bool) {
	if !mayBeSimple(text, sh) {
		return nil, false
	}
	return ReadLine(text, sh).onlyCommand(text)
}

// SimpleCommand returns the words of the line of a call whose only line is a simple command.
func (c *Call) SimpleCommand() (words []Word, ok bool) {
	if len(c.Lines) != 1 || c.Lines[0].IsList() || !mayBeSimple(c.Lines[0].Text, POSIX) {
		return nil, false
	}
	if c.Lines[0].Shell != POSIX {
		return SimpleCommand(c.Lines[0].Text, POSIX)
	}
	return c.onlyCommand(c.Lines[0].Text)
}

func mayBeSimple(text string, sh Shell) bool {
	return len(text) <= maxSimpleLength && programs.IsPlainText(text) && (sh != POSIX || !hasActiveOperator(text))
}

// onlyCommand returns the words of the simple command that is all of a text.
func (c *Call) onlyCommand(text string) (words []Word, ok bool) {
	if len(c.Unread) > 0 || len(c.Commands) == 0 || c.Commands[0].Span.To > len(text) {
		return nil, false
	}
	first := &c.Commands[0]
	isOther := func(other Command) bool { return other.Depth == 0 }
	switch words = first.Words; {
	case slices.ContainsFunc(c.Commands[1:], isOther):
	case len(words) == 0, len(words) > maxSimpleWords, len(first.Assignments) > 0, len(first.Redirects) > 0:
	case strings.TrimLeft(text[:words[0].Span.From], " ") != "", strings.TrimLeft(text[first.Span.To:], " ") != "": // time, !, a comment
	case slices.ContainsFunc(words, func(w Word) bool { return w.Dynamic }):
	default:
		return words, true
	}
	return nil, false
}

// IsHarmless reports whether the words of a simple command are a call that is known to change nothing, see
// programs.Harmless.
func IsHarmless(words []Word, dir programs.WorkingDir) bool {
	list := texts(words)
	for i, w := range words {
		// A file name could take the place of such a word as an option. The last letters of *.go are known,
		// those of * are not.
		isPattern := w.Text != "" && w.Text != "[" && strings.IndexByte("*?[", w.Text[0]) >= 0
		if isPattern && !w.IsQuoted && !strings.Contains(w.Text[strings.LastIndexAny(w.Text, "*?]")+1:], ".") {
			return false
		}
		if isPattern && w.IsQuoted { // nothing expands it
			list[i] = "./" + w.Text
		}
	}
	return len(words) > 0 && !words[0].IsQuoted && programs.Harmless(list, dir)
}

// hasActiveOperator reports whether a text has an operator that some POSIX shell may act on: one outside of
// quotes, an expansion in double quotes, or a backslash in single quotes, which only fish reads as an escape.
// An open quote or a backslash at the end continues the command in text that was not checked.
func hasActiveOperator(text string) bool {
	var quote byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == '\'':
			if c == '\\' && strings.ContainsAny(text, ShellOperators) {
				return true
			}
			if c == '\'' {
				quote = 0
			}
		case c == '\\':
			if i++; i == len(text) || strings.IndexByte(ShellOperators, text[i]) >= 0 {
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
		case strings.IndexByte(ShellOperators, c) >= 0:
			return true
		}
	}
	return quote != 0
}
