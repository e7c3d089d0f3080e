package install_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/schema/control"
)

func TestInstall_ManagedSettings(t *testing.T) {
	t.Parallel()
	const claude = "etc/claude-code/managed-settings.json"
	m := newTestMachine(t)
	m.machine.Root = t.TempDir()
	managed := func(path string) string { return filepath.Join(m.machine.Root, path) }
	m.write(managed(claude), "{\n  \"allowManagedHooksOnly\": true\n}\n")
	o := install.Options{Scope: install.Managed, Mode: install.Gate, Binary: m.home("bin/hookback"), Hub: "http://hub.example:4000"}
	for _, agent := range install.AgentNames() {
		if install.SupportsScope(agent, install.Managed) {
			o.Agents = append(o.Agents, agent)
		}
	}
	require.Equal(t, []string{"claude-code", "codex", "gemini", "cursor", "copilot", "qwen", "droid", "windsurf"}, o.Agents)
	m.write(o.Binary, "")
	require.NoError(t, os.Chmod(o.Binary, 0o700))
	m.install(o)
	require.Contains(t, m.read(managed(claude)), `"allowManagedHooksOnly": true`, "other settings stay")
	require.Contains(t, m.read(managed("etc/factory/settings.json")), `"hooks": {`, "Droid's hooks are a member of its settings")
	info, err := os.Stat(managed("etc/cursor/hooks.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "every account reads it")
	require.False(t, planHasChanges(m.plan(o)), "again")

	all := m.states()
	require.Len(t, all, len(o.Agents))
	for _, s := range all {
		require.Empty(t, s.State, "%s: %s", s.Agent, s.Detail)
	}
	require.Empty(t, install.DisabledBy(m.machine, "claude-code"), "managed hooks run although only managed hooks may")
	m.write(m.home(claudeFile), `{"disableAllHooks": true}`)
	require.Empty(t, install.DisabledBy(m.machine, "claude-code"), "a person can't disable them")
	m.write(managed(claude), `{"disableAllHooks": true}`)
	require.NotEmpty(t, install.DisabledBy(m.machine, "claude-code"))
	require.Equal(t, control.CoverageOff, m.states()[0].State)
}
