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

// The plugin's hook does nothing only for an entry that certainly gates the same calls. Whoever can write a project's
// files could end the gate of the plugin otherwise.
func TestGatesCalls_CountsOnlyTheAccountsOwnGate(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "hookback")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	command := func(words string) string { return `"hooks":[{"type":"command","command":"` + words + `"}]` }
	settings := func(event, members string) string { return `{"hooks":{"` + event + `":[{` + members + `}]}}` }
	own, http := command(program+" hook claude-code"), `"hooks":[{"type":"http","url":"http://127.0.0.1:4000/hooks/claude-code"}]`
	const user, project = ".claude/settings.json", "project/.claude/settings.json"
	for name, c := range map[string]struct {
		file, content string
		want          bool
	}{
		"user":                   {user, settings("PreToolUse", own), true},
		"with arguments":         {user, settings("PreToolUse", `"hooks":[{"type":"command","command":"`+program+`","args":["hook","claude-code","--event","PreToolUse"]}]`), true},
		"matches all":            {user, settings("PreToolUse", `"matcher":"*",`+own), true},
		"empty matcher":          {user, settings("PreToolUse", `"matcher":"",`+own), true},
		"project":                {project, settings("PreToolUse", own), false},
		"local":                  {"project/.claude/settings.local.json", settings("PreToolUse", own), false},
		"a matcher":              {user, settings("PreToolUse", `"matcher":"Nothing",`+own), false},
		"a matcher, no text":     {user, settings("PreToolUse", `"matcher":["*"],`+own), false},
		"observes":               {user, settings("PreToolUse", command(program+" hook claude-code --observe")), false},
		"by its name":            {user, settings("PreToolUse", command("hookback hook claude-code")), false},
		"relative path":          {user, settings("PreToolUse", command("bin/hookback hook claude-code")), false},
		"http":                   {user, settings("PreToolUse", http), false},
		"another event":          {user, settings("Stop", own), false},
		"another agent":          {user, settings("PreToolUse", command(program+" hook codex")), false},
		"missing program":        {user, settings("PreToolUse", command("/gone/hookback hook claude-code")), false},
		"not loaded":             {user, "// comment\n" + settings("PreToolUse", own), false},
		"not loaded, by a value": {user, `{"cleanupPeriodDays":"30",` + settings("PreToolUse", own)[1:], false},
		"no entries":             {user, "{}", false},
		"event is no list":       {user, `{"hooks":{"PreToolUse":{` + own + `}}}`, false},
		"directory of settings":  {".claude/settings.json/x", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTestMachine(t)
			require.False(t, install.GatesCalls(m.home(""), "claude-code", "PreToolUse"), "no settings")
			m.write(m.home(c.file), c.content)
			require.Equal(t, c.want, install.GatesCalls(m.home(""), "claude-code", "PreToolUse"))
		})
	}
}

// An agent that also runs the hooks of another one has its own hook only if that gates all calls.
func TestGatesCalls_OfSharingAgents(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"cursor", "copilot"} {
		m := newTestMachine(t)
		program := m.home("bin/hookback")
		m.write(program, "#!/bin/sh\n")
		require.NoError(t, os.Chmod(program, 0o700)) //nolint:gosec // a program
		o := installOptions(agent)
		o.Binary = program
		m.install(o)
		require.True(t, install.GatesCalls(m.home(""), agent), agent)
		o.Mode = install.Observe
		m.install(o)
		require.False(t, install.GatesCalls(m.home(""), agent), agent)
	}
}
