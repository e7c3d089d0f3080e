package policy

import (
	"runtime"
	"strings"

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
