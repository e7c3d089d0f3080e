package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/hubtest"
)

// statusReport is the JSON output of status.
type statusReport struct {
	Proven bool
	Agents []control.Coverage
}

func (d *testMachine) status(args ...string) (v statusReport) {
	d.t.Helper()
	got := d.run(append([]string{"status", "--json"}, args...)...)
	require.NoError(d.t, json.Unmarshal([]byte(got.out), &v), got.out+got.err)
	require.Equal(d.t, map[bool]int{true: 0, false: 1}[v.Proven], got.status)
	require.Empty(d.t, got.err)
	return v
}

func TestStatus_ProvenByAgentOnly(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	d.env["HOOKBACK_URL"] = hubtest.Start(t).URL()
	require.Equal(t, statusReport{Agents: []control.Coverage{}}, d.status(), "nothing is installed")

	require.Equal(t, 0, d.run("install", "--agent", "claude").status)
	d.doctor() // runs the hook itself, which proves nothing
	v := d.status()
	require.Len(t, v.Agents, 1)
	require.Equal(t, control.CoverageNotProven, v.Agents[0].State)
	require.Contains(t, v.Agents[0].Remedy, "start Claude Code")

	prove := func() {
		t.Helper()
		require.Eventually(t, func() bool { // a slow machine spools the event, and the next hook sends it
			entry := d.installedEntry("claude-code", "Stop")
			require.Equal(t, 0, d.exec(`{"session_id":"s","hook_event_name":"Stop"}`, entry.Argv...).status)
			return d.status().Proven
		}, time.Minute, 50*time.Millisecond)
	}
	prove()
	require.Contains(t, d.run("status").out, "✓ Claude Code        proven: version unknown, ")
	require.Contains(t, d.doctor().lines("ok"), "claude-code: proven: version unknown, ")

	writePolicy(t, filepath.Join(d.home, ".config", "hookback"), userPolicy)
	require.Equal(t, control.CoverageChanged, d.status().Agents[0].State)
	prove()

	require.Equal(t, 0, d.run("install", "--agent", "claude", "--mode", "observe").status)
	require.Equal(t, control.CoverageObserves, d.status().Agents[0].State)
	require.Equal(t, 0, d.run("install", "--agent", "claude").status)
	require.True(t, d.status().Proven, "the entries are those of the newest event again")

	require.NoError(t, os.WriteFile(filepath.Join(d.home, ".claude", "settings.json"), []byte("{}"), 0o600))
	got := d.run("status")
	require.Equal(t, 1, got.status)
	require.Equal(t, "✗ Claude Code        off: ~/.claude/settings.json: the hooks that were installed are not there anymore\n  → hookback install --agent claude-code\n", got.out)
	require.True(t, strings.HasPrefix(d.run("status", "x").err, "hookback: status takes flags only"))
}

func TestStatus_WithoutHub(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	d.env["HOOKBACK_URL"] = "http://127.0.0.1:1"
	require.Equal(t, 0, d.run("install", "--agent", "codex").status)
	v := d.status()
	require.False(t, v.Proven)
	require.Equal(t, control.CoverageNotProven, v.Agents[0].State)
	require.Contains(t, v.Agents[0].Detail, "http://127.0.0.1:1")
}
