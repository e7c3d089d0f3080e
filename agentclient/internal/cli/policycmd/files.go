package policycmd

import (
	"fmt"
	"os"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/policy"
)

// selectPolicyFiles returns the file on the command line, or the files that apply in the
// working directory and their source.
func selectPolicyFiles(words []string, env func(string) string) (policy.Source, []string, error) {
	source := cli.UserPolicySource(env, "")
	switch len(words) {
	case 0:
		var err error
		source.Dir, err = os.Getwd()
		return source, source.Files(), err
	case 1:
		return source, words, nil
	default:
		return source, nil, fmt.Errorf("policy takes one FILE, not %d", len(words))
	}
}
