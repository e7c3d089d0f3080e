package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/hubtest"
)

func TestInstall_Managed(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	d := newTestMachine(t)
	root := filepath.Join(d.home, "image")
	writePolicy(t, filepath.Join(d.home, ".config", "hookback"), userPolicy)
	args := []string{"install", "--managed", root, "--hub", hub.URL(), "--binary", "/usr/local/bin/hookback"}
	got := d.run(append(args, "--dry-run")...)
	require.Equal(t, 0, got.status, got.err)
	require.NoDirExists(t, root)
	got = d.run(args...)
	require.Equal(t, 0, got.status, got.err)
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, read("etc/claude-code/managed-settings.json"), `"/usr/local/bin/hookback"`)
	require.Contains(t, read("etc/claude-code/managed-settings.json"), hub.URL())
	require.Contains(t, read("etc/hookback/hub.pub"), hub.URL()+" ed25519 ")
	require.Equal(t, userPolicy, read("etc/hookback/hookback.json"))
	require.NoDirExists(t, filepath.Join(d.home, ".claude"), "no settings of this account are written")
	require.NoFileExists(t, filepath.Join(d.home, ".local", "state", "hookback", "installed.json"))
	require.Contains(t, got.err, "Agents without managed settings: crush, antigravity, kiro, opencode, cline.")
	require.Contains(t, d.run(args...).out, "up to date", "again")

	other := hubtest.Start(t)
	require.Equal(t, 0, d.run("install", "--agent", "codex", "--hub", hub.URL()).status) // pins the hub
	got = d.run("install", "--managed", root, "--hub", other.URL())
	require.Equal(t, 2, got.status)
	require.Contains(t, got.err, "and this account trusts hub ")
	require.Contains(t, d.run("install", "--managed", root, "--scope", "project").err, "--managed goes with neither")
	require.Contains(t, d.run("install", "--managed", root, "--agent", "kiro", "--hub", hub.URL()).err, `no settings for scope "managed"`)
}
