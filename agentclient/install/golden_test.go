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
				b := newTestMachine(t)
				o := installOptions(agent)
				scope, mode, _ := strings.Cut(section.Name, " ")
				o.Scope, o.Mode = install.Scope(scope), install.Mode(mode)
				file := b.home(place.user)
				if o.Scope == install.Project {
					file = b.project(place.project)
				}
				b.write(file, before)
				b.install(o)
				got := b.read(file)
				if *update {
					section.Data = []byte(got)
				}
				require.Equal(t, string(section.Data), got, section.Name)
				requireLoads(t, agent, got)
				require.False(t, planHasChanges(b.plan(o)), "%s: again", section.Name)
				b.uninstall(install.Options{Scope: o.Scope})
				require.Equal(t, before, b.read(file), section.Name)
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
				b := newTestMachine(t)
				before := readTree(t, filepath.Dir(b.machine.Home))
				o := installOptions(agent)
				o.Scope = scope
				b.install(o)
				file := b.home(place.user)
				if scope == install.Project {
					file = b.project(place.project)
					require.NotContains(t, b.read(file), b.machine.Home, "a project must not contain paths of this machine")
					require.NotContains(t, b.read(file), binary)
				}
				requireLoads(t, agent, b.read(file))
				require.True(t, strings.HasSuffix(b.read(file), "}\n"))
				b.uninstall(install.Options{Scope: scope})
				after := readTree(t, filepath.Dir(b.machine.Home))
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
