package install_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
)

// The plugin has an entry for the same events as an installation.
func TestPluginFiles_HaveInstalledEvents(t *testing.T) {
	t.Parallel()
	files, err := install.PluginFiles()
	require.NoError(t, err)
	var plugin, installed struct{ Hooks map[string]any }
	require.NoError(t, json.Unmarshal(files[".claude-plugin/hookback/hooks/hooks.json"], &plugin))
	m := newTestMachine(t)
	m.install(installOptions("claude-code"))
	require.NoError(t, json.Unmarshal([]byte(m.read(m.home(".claude/settings.json"))), &installed))
	for event := range installed.Hooks {
		require.Contains(t, plugin.Hooks, event)
	}
	require.Len(t, plugin.Hooks, len(installed.Hooks))
}

// An entry counts only if Claude Code would run it and its program exists. Otherwise neither it
// nor the plugin would ask.
func TestRunsHook_CountsEntriesThatRun(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "hookback")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	command := func(words string) string { return `{"hooks":[{"type":"command","command":"` + words + `"}]}` }
	settings := func(event, entry string) string { return `{"hooks":{"` + event + `":[` + entry + `]}}` }
	for name, c := range map[string]struct {
		file, content string
		want          bool
	}{
		"user":            {".claude/settings.json", settings("PreToolUse", command(program+" hook claude-code")), true},
		"project":         {"project/.claude/settings.json", settings("PreToolUse", command("hookback hook claude-code")), true},
		"local":           {"project/.claude/settings.local.json", settings("PreToolUse", command("hookback hook claude-code")), true},
		"http":            {".claude/settings.json", settings("PreToolUse", `{"hooks":[{"type":"http","url":"http://127.0.0.1:4000/hooks/claude-code"}]}`), true},
		"another event":   {".claude/settings.json", settings("Stop", command(program+" hook claude-code")), false},
		"another agent":   {".claude/settings.json", settings("PreToolUse", command(program+" hook codex")), false},
		"missing program": {".claude/settings.json", settings("PreToolUse", command("/gone/hookback hook claude-code")), false},
		"not loaded":      {".claude/settings.json", "// comment\n" + settings("PreToolUse", command(program+" hook claude-code")), false},
		"http not loaded": {".claude/settings.json", "// comment\n" + settings("PreToolUse", `{"hooks":[{"type":"http","url":"http://127.0.0.1:4000/hooks/claude-code"}]}`), false},
		"no entries":      {".claude/settings.json", "{}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMachine(t)
			m.machine.Dir = m.home("project")
			require.False(t, install.RunsHook(m.machine, "claude-code", "PreToolUse"), "no settings")
			m.write(m.home(c.file), c.content)
			require.Equal(t, c.want, install.RunsHook(m.machine, "claude-code", "PreToolUse"))
		})
	}
}
