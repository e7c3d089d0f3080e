package policy

import (
	"runtime"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/policy/programs"
)

// isSimpleCommand reports whether a command line is a single command. Rules that allow
// require it: a rule for "git status*" must not allow "git status; curl … | sh".
//
// Quotes are ignored on purpose. The text may be meant for a nested shell (bash -c "…"),
// and cmd.exe does not support single quotes. As a result some harmless commands are not
// simple, which costs a question; the opposite error would cost more.
func isSimpleCommand(text string) bool {
	return isSimpleCommandFor(text, runtime.GOOS == "windows")
}

// Characters that separate, pipe, redirect, group or substitute in sh, bash, zsh, fish or
// PowerShell, and the characters that only cmd.exe adds.
const (
	shellOperators   = ";&|<>`$(){}"
	windowsOperators = "%^!"
)

func isSimpleCommandFor(text string, windows bool) bool {
	if strings.ContainsAny(text, shellOperators) || windows && strings.ContainsAny(text, windowsOperators) {
		return false
	}
	return programs.IsPlainText(text) && (windows || hasBalancedQuotes(text))
}

// simpleWords returns the words of a command line that isSimpleCommand accepts.
func simpleWords(text string, windows bool) (words []string, ok bool) {
	if !isSimpleCommandFor(text, windows) {
		return nil, false
	}
	shell := call.POSIX
	if windows {
		shell = call.PowerShell
	}
	read := call.ReadLine(text, shell)
	if len(read.Unread) > 0 || len(read.Commands) == 0 || read.Commands[0].Words == nil || len(read.Commands[0].Assignments) > 0 ||
		slices.ContainsFunc(read.Commands, func(c call.Command) bool { return c.Depth == 0 && c.Span != read.Commands[0].Span }) {
		return nil, false
	}
	for _, w := range read.Commands[0].Words {
		words = append(words, w.Text)
	}
	return words, true
}

// joinWords returns a command line with these words.
func joinWords(words []string, windows bool) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w, windows)
	}
	return strings.Join(quoted, " ")
}

func quoteWord(w string, windows bool) string {
	special := func(r rune) bool {
		return r >= 0x80 ||
			!(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+~*?[]^!#", r) || windows && r == '\\')
	}
	switch {
	case w != "" && !strings.ContainsFunc(w, special):
		return w
	case windows:
		return `"` + w + `"`
	default:
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
}

// hasBalancedQuotes reports whether every quote of a POSIX command line is closed. An
// incomplete line would continue in text that was not checked.
func hasBalancedQuotes(text string) bool {
	var open byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && open != '\'':
			if i++; i == len(text) {
				return false
			}
		case open == 0 && (c == '\'' || c == '"'):
			open = c
		case c == open:
			open = 0
		}
	}
	return open == 0
}
