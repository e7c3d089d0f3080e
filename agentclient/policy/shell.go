package policy

import (
	"strings"

	"github.com/hookback/hookback/agentclient/call"
)

// isSimpleCommand reports whether a command line may be a single command. Rules that allow
// require it: a rule for "git status*" must not allow "git status; curl … | sh".
func isSimpleCommand(text string) bool { return call.IsSimpleText(text, onWindows) }

// simpleCommand returns the words of a command line that is a single command.
func simpleCommand(text string, windows bool) (words []call.Word, ok bool) {
	shell := call.POSIX
	if windows {
		shell = call.PowerShell
	}
	return call.SimpleWords(text, shell, windows)
}

// simpleWords returns the texts of the words of simpleCommand.
func simpleWords(text string, windows bool) (words []string, ok bool) {
	list, ok := simpleCommand(text, windows)
	return call.Texts(list), ok
}

// joinWords returns a command line with these words. Stored conditions compare with it.
func joinWords(words []string, windows bool) string {
	plain, shell := "-_./:=,@%+~*?[]^!#", call.POSIX
	if windows {
		plain, shell = plain+`\`, call.Cmd
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = call.Quote(w, plain, shell)
	}
	return strings.Join(quoted, " ")
}
