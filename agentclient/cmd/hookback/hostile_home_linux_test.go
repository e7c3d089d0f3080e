package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests neither read nor write the account that runs them: these, in the process and with the real
// program, pass on a machine whose account trusts another hub, denies every call and
// has variables for another hub.
func TestTests_DoNotUseAccount(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	script := filepath.Join("..", "..", "..", "scripts", "hostile-home.sh")
	cmd := exec.CommandContext(t.Context(), script, self, "-test.run", "^Test(Ask|MCP|Policy|Program|Trust|Verify)_", "-test.skip", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), builtProgram+"="+program)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
