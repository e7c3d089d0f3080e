package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/schema/control"
)

// installed returns a machine with an installation of a program that exists.
func installed(t *testing.T, agent string) (*testMachine, install.Options) {
	t.Helper()
	m, o := newTestMachine(t), installOptions(agent)
	o.Binary = m.home("bin/hookback")
	m.write(o.Binary, "")
	require.NoError(t, os.Chmod(o.Binary, 0o700))
	m.install(o)
	return m, o
}

func (m *testMachine) states() []control.Installation {
	m.t.Helper()
	all, err := install.States(m.machine)
	require.NoError(m.t, err)
	return all
}

func TestStates_OfEveryAgent(t *testing.T) {
	t.Parallel()
	for _, agent := range install.AgentNames() {
		if agent == "kiro" { // its hooks belong to custom agents
			continue
		}
		m, o := installed(t, agent)
		all := m.states()
		require.Len(t, all, 1, agent)
		require.Equal(t, agent, all[0].Agent)
		require.Empty(t, all[0].State, "%s: %s", agent, all[0].Detail)
		require.NotEmpty(t, all[0].Remedy, agent)
		before := all[0].Settings

		o.Mode = install.Observe
		m.install(o)
		all = m.states()
		require.Equal(t, control.CoverageObserves, all[0].State, agent)
		require.NotEqual(t, before, all[0].Settings, agent)

		o.Mode = install.Gate
		m.install(o)
		require.Equal(t, before, m.states()[0].Settings, "%s: the same entries have the same hash", agent)
		require.NoError(t, os.Remove(o.Binary))
		require.Equal(t, control.CoverageNotLoaded, m.states()[0].State, "%s: the program is gone", agent)
		m.uninstall(install.Options{})
		require.Empty(t, m.states(), "%s: an uninstalled agent is in no report, and the hub knows that it is off", agent)
	}
}

func TestStates_ChangesByHand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(text string) string
		want   control.CoverageState
		remedy string
	}{
		"the hook for tool calls is gone": {func(text string) string {
			return strings.Replace(text, `"PreToolUse"`, `"PreToolUseNot"`, 1)
		}, control.CoverageOff, "hookback install --agent claude-code --force"},
		"all hooks are gone": {func(string) string { return "{}" }, control.CoverageOff, "hookback install --agent claude-code"},
		"a hook about other events is gone": {func(text string) string {
			return strings.Replace(text, `"Notification"`, `"NotificationNot"`, 1)
		}, control.CoverageChanged, "hookback install --agent claude-code --force"},
		"a matcher that never fits": {func(text string) string {
			start, rest, _ := strings.Cut(text, `"PreToolUse": [`)
			return start + `"PreToolUse": [` + strings.Replace(rest, "{", `{"matcher": "Never",`, 1)
		}, control.CoverageChanged, "hookback install --agent claude-code --force"},
		"hooks are disabled": {func(text string) string {
			return strings.Replace(text, "{", `{"disableAllHooks": true,`, 1)
		}, control.CoverageOff, "remove that setting"},
		"the file has a comment": {func(text string) string {
			return "// mine\n" + text
		}, control.CoverageNotLoaded, "remove each comment, the first is in line 1"},
		"the file is cut": {func(text string) string { return text[:len(text)/2] }, control.CoverageNotLoaded, "correct line 185"},
	} {
		m, _ := installed(t, "claude-code")
		file := m.home(claudeFile)
		text := m.read(file)
		changed := c.change(text)
		require.NotEqual(t, text, changed, name)
		m.write(file, changed)
		got := m.states()
		require.Len(t, got, 1, name)
		require.Equal(t, c.want, got[0].State, "%s: %s", name, got[0].Detail)
		require.Equal(t, c.remedy, got[0].Remedy, name)
	}
	m, _ := installed(t, "codex")
	require.NoError(t, os.Remove(m.home(".codex/hooks.json")))
	require.Equal(t, control.CoverageOff, m.states()[0].State)
}

// Hooks keep what they read. No change is missed, whatever the times of the files are, and no damage of that file
// counts.
func TestStates_OfCache(t *testing.T) {
	t.Parallel()
	m, _ := installed(t, "gemini")
	m.machine.Cache = true
	file, cache := m.home(".gemini/settings.json"), filepath.Join(m.machine.State, "inspected.json")
	before := m.states()
	require.FileExists(t, cache)
	require.Equal(t, before, m.states())
	m.machine.Cache = false
	require.Equal(t, before, m.states())
	m.machine.Cache = true

	kept := m.read(cache)
	require.Contains(t, kept, `"NotLoaded":""`)
	m.write(cache, strings.Replace(kept, `"NotLoaded":""`, `"NotLoaded":"kept"`, 1))
	require.Equal(t, control.CoverageNotLoaded, m.states()[0].State, "the kept result is used")
	hooks, err := install.Inspect(m.machine)
	require.NoError(t, err)
	require.Empty(t, hooks[0].NotLoaded, "reports alone use it")

	info, err := os.Stat(file)
	require.NoError(t, err)
	m.write(file, strings.Replace(m.read(file), `"BeforeTool"`, `"BeforeTooX"`, 1))
	require.NoError(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	require.Equal(t, control.CoverageOff, m.states()[0].State, "the size and the time are the same")
	for _, text := range []string{"", "null", "[]", kept, `{"key":"` + strings.Repeat("0", 64) + `","hooks":[]}`} {
		m.write(cache, text)
		require.Equal(t, control.CoverageOff, m.states()[0].State, text)
	}
	require.NoError(t, os.Remove(file))
	require.Equal(t, control.CoverageOff, m.states()[0].State)
}
