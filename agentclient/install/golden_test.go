package install_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/hookback/hookback/agentclient/install"
)

var update = flag.Bool("update", false, "rewrite the goldens; review the diff before committing it")

// settingsPaths are the settings files of each agent, for the user and for a project. They
// are written independently of the table under test.
var settingsPaths = map[string]struct{ user, project string }{
	"claude-code": {".claude/settings.json", ".claude/settings.json"},
	"codex":       {".codex/hooks.json", ".codex/hooks.json"},
	"gemini":      {".gemini/settings.json", ".gemini/settings.json"},
	"cursor":      {".cursor/hooks.json", ".cursor/hooks.json"},
	"copilot":     {".copilot/hooks/hookback.json", ".github/hooks/hookback.json"},
	"qwen":        {".qwen/settings.json", ".qwen/settings.json"},
	"droid":       {".factory/hooks.json", ".factory/hooks.json"},
	"crush":       {".config/crush/crush.json", "crush.json"},
	"windsurf":    {".codeium/windsurf/hooks.json", ".windsurf/hooks.json"},
	"antigravity": {".gemini/config/hooks.json", ".agents/hooks.json"},
	"kiro":        {".kiro/agents/mine.json", ".kiro/agents/mine.json"},
}

// TestInstall_Goldens installs over the settings in testdata/<agent>.txtar: "before" is the
// existing file, and every other section is the expected result, named after scope and mode.
// Each result must load with the agent's own strictness, must not change in a second
// installation, and must equal "before" byte for byte after uninstalling.
func TestInstall_Goldens(t *testing.T) {
	t.Parallel()
	for agent, place := range settingsPaths {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", agent+".txtar")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			archive := txtar.Parse(text)
			require.Equal(t, "before", archive.Files[0].Name)
			before := string(archive.Files[0].Data)
			for i := range archive.Files[1:] {
				section := &archive.Files[i+1]
				m := newTestMachine(t)
				o := installOptions(agent)
				scope, mode, _ := strings.Cut(section.Name, " ")
				o.Scope, o.Mode = install.Scope(scope), install.Mode(mode)
				file := m.home(place.user)
				if o.Scope == install.Project {
					file = m.project(place.project)
				}
				m.write(file, before)
				m.install(o)
				got := m.read(file)
				if *update {
					section.Data = []byte(got)
				}
				require.Equal(t, string(section.Data), got, section.Name)
				requireLoads(t, agent, got)
				require.False(t, planHasChanges(m.plan(o)), "%s: again", section.Name)
				m.uninstall(install.Options{Scope: o.Scope})
				require.Equal(t, before, m.read(file), section.Name)
			}
			if *update {
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o600))
			}
		})
	}
}

// Without previous settings, uninstalling must leave no file behind.
func TestInstall_FreshMachineRoundTrip(t *testing.T) {
	t.Parallel()
	for agent, place := range settingsPaths {
		if agent == "kiro" {
			continue // it has settings only for its custom agents
		}
		for _, scope := range []install.Scope{install.User, install.Project} {
			t.Run(agent+" "+string(scope), func(t *testing.T) {
				t.Parallel()
				m := newTestMachine(t)
				before := readTree(t, filepath.Dir(m.machine.Home))
				o := installOptions(agent)
				o.Scope = scope
				m.install(o)
				file := m.home(place.user)
				if scope == install.Project {
					file = m.project(place.project)
					require.NotContains(t, m.read(file), m.machine.Home, "a project must not contain paths of this machine")
					require.NotContains(t, m.read(file), binary)
				}
				requireLoads(t, agent, m.read(file))
				require.True(t, strings.HasSuffix(m.read(file), "}\n"))
				m.uninstall(install.Options{Scope: scope})
				after := readTree(t, filepath.Dir(m.machine.Home))
				for name := range after {
					if strings.HasPrefix(name, "/state/") {
						delete(after, name) // the empty manifest, backups
					}
				}
				require.Equal(t, before, after)
			})
		}
	}
}

// The hub's copy of the files that decide whether hooks run is current, and has every agent.
func TestSettingsFiles_HubKnowsThem(t *testing.T) {
	t.Parallel()
	const file = "../../server/internal/risk/oversight/settings.txt"
	list := "# Files that decide whether agents run their hooks, from the table of agents in agentclient/install.\n" +
		"# go test ./agentclient/install -run HubKnows -update writes this file.\n" + strings.Join(install.SettingsFiles(), "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(list), 0o600))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, list, string(got))
	for _, agent := range install.AgentNames() {
		require.Contains(t, list, "\n"+agent+" /")
	}
}
