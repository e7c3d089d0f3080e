//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// startSocketHub returns a hub and the address of its Unix socket.
func startSocketHub(t *testing.T) (hub *hubtest.Hub, address string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hookback") //nolint:usetesting // the name of t.TempDir can be too long
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "hub.sock")
	return hubtest.Start(t, hubtest.Socket(path)), "unix://" + path
}

func TestHook_UnixSocket(t *testing.T) {
	t.Parallel()
	hub, address := startSocketHub(t)
	c := newHookCommand(t, address, readSample(t, "claude-code-PostToolUse-Bash"))
	require.Equal(t, cliResult{}, c.run(t))
	c.deliverSpooled()
	var all []schema.Event
	require.NoError(t, getJSON(t, hub.URL()+schema.PathRecent, &all))
	require.Len(t, all, 1)
	require.Equal(t, "PostToolUse", all[0].HookEventType)
}

// A socket that another account could have created receives nothing.
func TestHook_UnsafeSocket(t *testing.T) {
	t.Parallel()
	hub, address := startSocketHub(t)
	require.NoError(t, os.Chmod(filepath.Dir(address[len("unix://"):]), 0o777))
	c := newHookCommand(t, address, readSample(t, "claude-code-PermissionRequest-Bash"), "--on-unreachable", "allow")
	c.env = []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}
	require.NotContains(t, c.run(t).out, `"allow"`)
	require.Contains(t, c.log(), "others can write to its directory")
	var all []schema.Event
	require.NoError(t, getJSON(t, hub.URL()+schema.PathRecent, &all))
	require.Empty(t, all)
}

func TestDoctor_NamesSocket(t *testing.T) {
	t.Parallel()
	_, address := startSocketHub(t)
	d := newTestMachine(t)
	d.env["HOOKBACK_URL"] = address
	require.Equal(t, 0, d.run("install", "--agent", "claude-code").status)
	v := d.doctor()
	require.True(t, v.Healthy, v.lines("problem"))
	require.Contains(t, v.lines("ok"), "through the socket "+address[len("unix://"):])
	require.Contains(t, v.lines("ok"), "claude-code: the gate works: a made-up call was denied in ")
}
