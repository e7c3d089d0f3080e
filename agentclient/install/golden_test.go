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

var update = flag.Bool("update", false, "write the goldens anew; read the difference before you commit it")

// settingsPaths are where each agent reads its settings, user's and project's: the
// second source beside the table that is tested.
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

// TestInstall_Goldens installs over what testdata/<agent>.txtar holds: "before" is
// somebody's settings, every other section what becomes of them, its name the scope
// and the mode. Each is read by a loader as strict as the agent's own, is as it was
// when installed again, and is "before" to the byte when uninstalled.
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

// TestInstall_FreshMachineRoundTrip: without any settings there is what was there before: nothing.
func TestInstall_FreshMachineRoundTrip(t *testing.T) {
	t.Parallel()
	for agent, place := range settingsPaths {
		if agent == "kiro" {
			continue // it has no settings but those of its agents
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
					require.NotContains(t, b.read(file), b.machine.Home, "nothing of this machine in a project")
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
