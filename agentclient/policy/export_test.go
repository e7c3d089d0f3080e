package policy

import (
	"errors"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/internal/account"
)

func init() {
	account.Home = func() (string, error) { return "", errors.New("tests have no home directory") }
}

// SimpleWords exports simpleWords.
func SimpleWords(text string, windows bool) ([]string, bool) { return simpleWords(text, windows) }

// IsSimpleCommandFor checks a command for Windows or for other systems.
var IsSimpleCommandFor = call.IsSimpleText
