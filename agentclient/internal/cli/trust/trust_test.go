package trust

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// result is the result of one run.
type result struct {
	status   int
	out, err string
}

func TestTrustHub_PinsAfterConsent(t *testing.T) {
	t.Parallel()
	hub := clitest.StartAttackingHub(t, &fakehub.Hub{Key: fakehub.NewKey()})
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	trust := func(answer string) result {
		f := cli.NewBareFlags("trust", trustHelp)
		f.AddHubFlags(env)
		f.Hub = hub.URL()
		pins, err := agentclient.LoadTrust(f.Options())
		require.NoError(t, err)
		var out, stderr bytes.Buffer
		status := trustHub(t.Context(), f, pins, cli.Streams{In: strings.NewReader(answer), Out: &out, Err: &stderr})
		return result{status, out.String(), stderr.String()}
	}
	for _, answer := range []string{"", "n\n", "\n", "yeah\n", strings.Repeat("y", 1<<11)} {
		got := trust(answer)
		require.Equal(t, cli.ExitProblem, got.status, answer)
		require.Contains(t, got.err, "Nothing was changed.")
		require.Empty(t, clitest.KnownHubsIn(t, home))
	}
	got := trust("y\n")
	require.Equal(t, 0, got.status)
	require.Equal(t, "This account trusts hub "+hub.KeyID()+" ("+hub.URL()+").\n", got.out)
	require.Equal(t, hub.PinLine(), clitest.KnownHubsIn(t, home))
	require.Equal(t, result{0, "This account already trusts hub " + hub.KeyID() + " (" + hub.URL() + ").\n", ""}, trust(""))

	old := hub.PinLine()
	hub.Stop()
	hub.Key = fakehub.NewKey()
	require.NoError(t, hub.Start())
	got = trust("n\n")
	require.Equal(t, cli.ExitProblem, got.status)
	require.Contains(t, got.err, "trusted now  "+keyIDOf(t, old))
	require.Contains(t, got.err, "this hub     "+hub.KeyID())
	require.Contains(t, got.err, "Replace the key of "+hub.URL()+"?")
	require.Equal(t, old, clitest.KnownHubsIn(t, home))
	require.Equal(t, 0, trust("YES\n").status)
	require.Equal(t, hub.PinLine(), clitest.KnownHubsIn(t, home))
}

func keyIDOf(t *testing.T, pinLine string) string {
	t.Helper()
	key, err := sign.ParsePublicKey(strings.Fields(pinLine)[2])
	require.NoError(t, err)
	return schema.KeyID(key)
}
