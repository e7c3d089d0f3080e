package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/install"
)

func (m *testMachine) inspect() []install.InstalledHooks {
	m.t.Helper()
	all, err := install.Inspect(m.machine)
	require.NoError(m.t, err)
	return all
}

func TestInspect_ListsEntriesAndCommands(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	require.Empty(t, m.inspect())
	m.install(installOptions("codex"))
	m.install(installOptions("claude-code"))
	o := installOptions("claude-code")
	o.Scope, o.Mode = install.Project, install.Observe
	m.install(o)

	all := m.inspect()
	require.Len(t, all, 3)
	require.Equal(t, []string{m.home(claudeFile), m.project(claudeFile), m.home(".codex/hooks.json")}, []string{all[0].File, all[1].File, all[2].File})
	require.Equal(t, []install.Scope{install.User, install.Project, install.User}, []install.Scope{all[0].Scope, all[1].Scope, all[2].Scope})
	require.Equal(t, install.HookEntry{
		Event: "SessionStart", Argv: []string{binary, "hook", "claude-code"}, Binary: binary, Args: []string{"hook", "claude-code"},
	}, all[0].Entries[0])
	shared := all[1].Entries[0]
	require.True(t, shared.Observes())
	require.Equal(t, "hookback", shared.Binary)
	require.Equal(t, []string{"/bin/sh", "-c", "command -v hookback >/dev/null 2>&1 || exit 0; exec hookback hook claude-code --observe"}, shared.Argv)
	require.False(t, all[2].Entries[0].Observes())
	for _, hooks := range all {
		require.Empty(t, hooks.Missing)
		require.NoError(t, hooks.Err)
		for _, e := range hooks.Entries {
			require.False(t, e.Changed, e.Event)
		}
	}
}

func TestInspect_ReportsModifiedEntries(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.install(installOptions("gemini"))
	file := m.home(".gemini/settings.json")
	text := m.read(file)
	m.write(file, strings.Replace(text, "3600000", "60000", 1))
	for _, e := range m.inspect()[0].Entries {
		require.Equal(t, e.Event == "BeforeTool", e.Changed, e.Event)
	}
	m.write(file, strings.Replace(text, `"AfterAgent"`, `"Later"`, 1))
	require.Equal(t, []string{"AfterAgent"}, m.inspect()[0].Missing)
	m.write(file, "{")
	require.ErrorContains(t, m.inspect()[0].Err, "line 1, column 1: this { has no matching }")
	require.NoError(t, os.Remove(file))
	require.ErrorContains(t, m.inspect()[0].Err, "it no longer exists")
}

func TestInspect_ProjectEqualsHomeIsListedOnce(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.install(installOptions("codex"))
	want := m.inspect()
	m.machine.Dir = m.machine.Home
	require.Len(t, want, 1)
	require.Equal(t, want, m.inspect())
}

// In mode enforce, a missing program blocks the call; agents without such a setting are refused.
func TestInstall_Enforce(t *testing.T) {
	t.Parallel()
	gates := map[string][]string{
		"claude-code": {"PreToolUse", "PreSkillShellCommand"},
		"cursor":      {"beforeShellExecution", "beforeMCPExecution", "preToolUse"},
		"gemini":      {"BeforeTool"},
		"copilot":     {"PreToolUse"},
	}
	for _, agent := range install.AgentNames() {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newTestMachine(t)
			o := installOptions(agent)
			o.Mode = install.Enforce
			p, err := install.Install(m.machine, o)
			require.NoError(t, err)
			if gates[agent] == nil {
				require.Empty(t, p.Changes)
				require.Len(t, p.Problems, 1)
				require.ErrorContains(t, p.Problems[0], "does not support --mode enforce; Claude Code, Gemini CLI, Cursor, GitHub Copilot CLI do")
				return
			}
			m.install(o)
			var enforced []string
			for _, e := range m.inspect()[0].Entries {
				if e.Enforced {
					enforced = append(enforced, e.Event)
				}
			}
			require.Equal(t, gates[agent], enforced)
			o.Mode = install.Gate
			require.Contains(t, planNotes(m.install(o)), "without hookback, calls run again: the hooks were installed with --mode enforce before")
			for _, e := range m.inspect()[0].Entries {
				require.False(t, e.Enforced, e.Event)
			}
		})
	}
}

func TestInstall_EnforceNeedsVersion(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.machine.LookPath = func(name string) (string, error) { return "/opt/" + name, nil }
	m.machine.Version = func(string) string { return "2.1.294" }
	o := installOptions("claude-code")
	o.Mode = install.Enforce
	p, err := install.Install(m.machine, o)
	require.NoError(t, err)
	require.Empty(t, p.Changes)
	require.ErrorContains(t, p.Problems[0], "Claude Code 2.1.294 does not support --mode enforce; update it to 2.1.295")
}

func TestInspect_MergesClineFiles(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	o := installOptions("cline")
	o.Binary = "/a place/it's/hookback"
	m.install(o)
	all := m.inspect()
	require.Len(t, all, 1)
	require.Equal(t, m.home("Documents/Cline/Hooks"), all[0].File)
	require.Len(t, all[0].Entries, 10)
	require.Empty(t, all[0].Missing)
	for _, e := range all[0].Entries {
		require.Equal(t, o.Binary, e.Binary)
		require.Equal(t, []string{filepath.Join(all[0].File, e.Event)}, e.Argv)
		require.False(t, e.Changed)
		require.Equal(t, []string{"hook", "cline"}, e.Args[:2])
		require.Equal(t, e.Event == "PreToolUse", len(e.Args) == 4, e.Args)
	}
	m.write(m.home(clineFile), m.read(m.home(clineFile))+"\n")
	for _, e := range m.inspect()[0].Entries {
		require.Equal(t, e.Event == "PreToolUse", e.Changed)
	}
}

func TestInspect_ReadsOpenCodePlugin(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	o := installOptions("opencode")
	o.Mode, o.Hub = install.Observe, "http://10.0.0.7:4000"
	m.install(o)
	args := []string{"hook", "opencode", "--observe", "--hub", "http://10.0.0.7:4000"}
	require.Equal(t, []install.HookEntry{{
		Event: "hookback.js", Argv: append([]string{binary}, args...), Binary: binary, Args: args,
	}}, m.inspect()[0].Entries)
	require.True(t, m.inspect()[0].Entries[0].Observes())
}

func TestInspect_IncludesManifestFiles(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	o := installOptions("cursor")
	o.Scope = install.Project
	m.install(o)
	file := m.project(".cursor/hooks.json")
	m.machine.Dir = t.TempDir()
	require.Equal(t, file, m.inspect()[0].File)
	require.NoError(t, os.RemoveAll(m.machine.State))
	require.Empty(t, m.inspect())
}

func TestDisabledBy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ agent, file, content, want string }{
		{"claude-code", ".claude/settings.json", `{"disableAllHooks": true /* for now */}`, "disableAllHooks is set in "},
		{"claude-code", ".claude/settings.json", `{"disableAllHooks": false}`, ""},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"enabled": false}}`, "hooksConfig.enabled is false in "},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"disabled": ["x", "hookback"]}}`, "hooksConfig.disabled names hookback in "},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"disabled": ["hookbacks"]}}`, ""},
		{"qwen", ".qwen/settings.json", `{"disableAllHooks": true}`, "disableAllHooks is set in "},
		{"qwen", ".qwen/settings.json", `{"disableAllHooks": "no"}`, "disableAllHooks is set in "},
		{"qwen", ".qwen/settings.json", `{"disableAllHooks": 0}`, ""},
		{"gemini", ".gemini/settings.json", `{"hooksConfig": {"enabled": "False"}}`, "hooksConfig.enabled is false in "},
		{"copilot", ".copilot/settings.json", `{"disableAllHooks": true}`, "disableAllHooks is set in "},
		{"droid", ".factory/settings.json", `{"hooksDisabled": true}`, "hooksDisabled is set in "},
		{"antigravity", ".gemini/config/hooks.json", `{"hookback": {"enabled": false}}`, "hookback.enabled is false in "},
		{"codex", ".codex/hooks.json", `{`, ""},
		{"codex", ".codex/config.toml", "model = \"x\"\n[features]\nweb = true\n\n  hooks = false\n[tui]\n", "the feature hooks is false in "},
		{"codex", ".codex/config.toml", "[features]\ncodex_hooks=false # for now", "the feature hooks is false in "},
		{"codex", ".codex/config.toml", "features.hooks = false\n", "the feature hooks is false in "},
		{"codex", ".codex/config.toml", "features = {web = true, hooks = false}\n", "the feature hooks is false in "},
		{"codex", ".codex/config.toml", "[features]\n# hooks = false\nhooks = true\n[x]\nhooks = false\n", ""},
		{"qwen", ".qwen/settings.json", `{`, ""},
	} {
		m := newTestMachine(t)
		m.write(m.home(test.file), test.content)
		reasons := install.DisabledBy(m.machine, test.agent)
		if test.want == "" {
			require.Empty(t, reasons, test.content)
			continue
		}
		require.Equal(t, []string{test.want + m.home(test.file)}, reasons)
		require.Contains(t, strings.Join(m.plan(installOptions(test.agent)).Notes, "\n"), test.want+m.home(test.file))
		if strings.HasPrefix(test.file, ".claude") {
			m.write(m.project(test.file), test.content)
			require.Len(t, install.DisabledBy(m.machine, test.agent), 2)
		}
	}
}

func TestVersion_ComparesWithMinimum(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	for _, test := range []struct {
		agent, version string
		isHere         bool
		enough         bool
	}{
		{"claude-code", "2.1.139", true, true},
		{"claude-code", "2.1.138", true, false},
		{"claude-code", "2.2.0", true, true},
		{"claude-code", "1.9.999", true, false},
		{"claude-code", "", true, true},
		{"claude-code", "1.0.0", false, true},
		{"codex", "0.1.0", true, true},
		{"unknown", "", true, true},
	} {
		m.onPath["claude"], m.version = test.isHere, test.version
		_, _, enough := install.Version(m.machine, test.agent)
		require.Equal(t, test.enough, enough, "%+v", test)
	}
	require.Equal(t, "Claude Code", install.AgentTitle("claude-code"))
	require.Equal(t, "unknown", install.AgentTitle("unknown"))
	require.Contains(t, install.Hint("codex"), "/hooks")
	require.Empty(t, install.Hint("crush"))
}

func TestHTTPHooks_ListsHooksAndAllowlist(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	require.Empty(t, install.HTTPHooks(m.machine))
	hooks := `"hooks": {
		"Stop": [{"hooks": [{"type": "http", "url": "http://h:4000/hooks/claude-code"}, {"type": "http", "url": "http://h:4000/other"}]}],
		"PermissionRequest": [{"matcher": "", "hooks": [{"type": "http", "url": "http://h:4000/hooks/claude-code", "timeout": 3600}]}],
		"PreToolUse": [{"hooks": [{"type": "command", "command": "x /hooks/claude-code"}, {"type": "http", "url": "https://proxy/hub/hooks/claude-code"}]}]
	}`
	m.write(m.project(claudeFile), "{"+hooks+"}")
	require.Equal(t, []install.HTTPHook{
		{File: m.project(claudeFile), URL: "http://h:4000/hooks/claude-code", Events: []string{"Stop", "PermissionRequest"}, NoEntrypoint: true},
		{File: m.project(claudeFile), URL: "https://proxy/hub/hooks/claude-code", Events: []string{"PreToolUse"}},
	}, install.HTTPHooks(m.machine))

	m.write(m.home(claudeFile), `{"allowedHttpHookUrls": ["https://proxy/*"]}`)
	found := install.HTTPHooks(m.machine)
	require.Equal(t, "allowedHttpHookUrls in "+m.home(claudeFile), found[0].Blocked)
	require.Empty(t, found[1].Blocked)
	m.write(m.home(claudeFile), `{"allowedHttpHookUrls": []}`)
	require.NotEmpty(t, install.HTTPHooks(m.machine)[1].Blocked, "an empty list allows nothing")
	m.write(m.home(claudeFile), `{"hooks": "none"}`)
	require.Len(t, install.HTTPHooks(m.machine), 2)
}

func TestNames_MatchHookAdapters(t *testing.T) {
	t.Parallel()
	var adapters []string
	for _, a := range hook.Agents {
		adapters = append(adapters, a.Name)
	}
	require.ElementsMatch(t, adapters, install.AgentNames())
}
