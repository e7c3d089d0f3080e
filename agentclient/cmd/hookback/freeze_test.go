package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/server/hubtest"
)

func TestFreeze_IsMadeListedAndLifted(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	d.env["HOOKBACK_URL"] = hubtest.Start(t).URL()
	made := d.run("freeze", "--of", "shop", "--reason", "Incident.")
	require.Equal(t, 0, made.status, made.err)
	require.Regexp(t, `^1\t.+ froze the agents of this application\.\tIncident\.\n$`, made.out)
	require.Equal(t, made, d.run("freeze", "--list"))
	require.Equal(t, cliResult{0, "Lifted freeze 1.\n", ""}, d.run("freeze", "--lift", "1"))
	require.Equal(t, cliResult{}, d.run("freeze", "--list"))

	var other fakehub.Hub // has no freezes
	require.NoError(t, other.Start())
	t.Cleanup(other.Stop)
	foreign := other.URL() + ": " + other.URL() + " answered /api/freezes "
	for want, args := range map[string][]string{
		"not found": {"--lift", "99"}, `--lift "x": must be the number of a freeze`: {"--lift", "x"},
		`freeze takes flags only, not "x"`: {"x"}, "no hub answers at http://127.0.0.1:1: ": {"--hub", "http://127.0.0.1:1"},
		"no hub answers at " + foreign: {"--hub", other.URL()},
	} {
		got := d.run(append([]string{"freeze"}, args...)...)
		require.Equal(t, 2, got.status, want)
		require.Contains(t, got.err, "hookback: "+want)
		require.Empty(t, got.out)
	}
}
