package hookrun

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
)

// A hub that never confirms a question must not hold the agent until the question's deadline.
func TestHook_UnacceptedQuestionUsesFallback(t *testing.T) {
	t.Parallel()
	input, err := os.ReadFile("../../../hook/testdata/claude-code-PermissionRequest-Bash.json")
	require.NoError(t, err)
	for name, hub := range map[string]string{
		"mute":   clitest.StartRawListener(t, nil),
		"503":    clitest.StartHub(t, clitest.RespondWith(503, "text/plain", "busy")).URL(),
		"403":    clitest.StartHub(t, clitest.RespondWith(403, "application/problem+json", `{"code":"forbidden","detail":"not you"}`)).URL(),
		"HTML":   clitest.StartHub(t, clitest.RespondWith(200, "text/html", "<h1>Hi</h1>")).URL(),
		"scheme": "ftp://x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			env := func(name string) string { return map[string]string{"HOME": home}[name] }
			var out, stderr bytes.Buffer
			h := newHookRun(env, cli.Streams{In: strings.NewReader(string(input)), Out: &out, Err: &stderr})
			h.connectTimeout, h.acceptTimeout = time.Millisecond, 200*time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // on expiry the hook prints nothing
			defer cancel()
			require.Equal(t, 0, h.run(ctx, []string{"claude-code", "--on-unreachable", "deny", "--hub", hub}))
			require.Contains(t, out.String(), `"behavior":"deny","message":"No`)
			require.NotContains(t, out.String(), "No one answered in time", "the hook did not wait for the deadline of the question")
			require.Empty(t, stderr.String())
			require.Equal(t, 1, h.spool.Len(), "a later hook reports the event")
		})
	}
}
