package agentclient

import (
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isSimpleCommand reports whether a command line is one command and nothing else. It
// must be: a rule that allows "git status*" means no "git status; curl … | sh".
//
// It does not read quotes, on purpose: the text may be meant for a shell inside the
// shell (bash -c "…"), and cmd.exe knows no single ones. So some harmless commands
// aren't simple, which costs a question; the other mistake would cost more.
func isSimpleCommand(text string) bool {
	return isSimpleCommandFor(text, runtime.GOOS == "windows")
}

// Everything that separates, pipes, redirects, groups or substitutes in sh, bash,
// zsh, fish or PowerShell; and what cmd.exe has besides.
const (
	shellOperators   = ";&|<>`$(){}"
	windowsOperators = "%^!"
)

func isSimpleCommandFor(text string, windows bool) bool {
	if !utf8.ValidString(text) || strings.ContainsAny(text, shellOperators) || windows && strings.ContainsAny(text, windowsOperators) {
		return false
	}
	return !hasHiddenText(text) && (windows || hasBalancedQuotes(text))
}

// hasHiddenText reports whether a text has characters that aren't seen, or are seen as
// others: control characters and line ends, formatting, and the wide forms that
// Windows takes for ; or |.
func hasHiddenText(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) ||
			r == utf8.RuneError || r >= 0xFF01 && r <= 0xFF5E
	})
}

// hasBalancedQuotes reports whether every quote of a POSIX command line is closed: a line
// that isn't finished goes on where nobody looked.
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
