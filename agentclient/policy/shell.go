package policy

import (
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"
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
// PowerShell, and those that only cmd.exe adds.
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

// hasHiddenText reports whether text has characters that are invisible or look like
// others: control characters and line ends, formatting, and the fullwidth forms that
// Windows maps to ; or |.
func hasHiddenText(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) ||
			r == utf8.RuneError || r >= 0xFF01 && r <= 0xFF5E
	})
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
