package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
)

const claudeFile = ".claude/settings.json"

func TestPlan_WritesNothing(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.write(m.home(claudeFile), "{}\n")
	before := readTree(t, filepath.Dir(m.machine.Home))
	p := m.plan(installOptions("claude-code"))
	require.True(t, planHasChanges(p))
	require.Equal(t, before, readTree(t, filepath.Dir(m.machine.Home)))
	diff := p.Changes[0].Diff()
	require.True(t, strings.HasPrefix(diff, "--- "+m.home(claudeFile)+"\n+++ "+m.home(claudeFile)+"\n@@ -1,1 +1,"), diff)
	require.Contains(t, diff, "\n+  \"hooks\": {\n")
}

func TestInstall_UpgradeReplacesOwnEntries(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"claude-code", "codex", "cursor", "copilot", "antigravity", "cline"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newTestMachine(t)
			old := installOptions(agent)
			old.Binary, old.Mode = "/old place/hookback", install.Observe
			m.install(old)
			m.install(installOptions(agent))
			fresh := newTestMachine(t)
			fresh.install(installOptions(agent))
			want := readTree(t, fresh.machine.Home)
			require.Equal(t, want, readTree(t, m.machine.Home), "equals a fresh installation")
			m.uninstall(install.Options{})
			for name := range readTree(t, m.machine.Home) {
				require.Equal(t, "/", name)
			}
		})
	}
}

func TestUninstall_MovedBinaryIsRecognized(t *testing.T) {
	t.Parallel()
	for _, manifest := range []bool{true, false} {
		m := newTestMachine(t)
		o := installOptions("codex")
		o.Binary = "/some/where/hookback-1.2"
		if !manifest {
			o.Binary = "/some/where/it's here/hookback"
		}
		before := "{\"hooks\": {\"Stop\": [\n  {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n]}}"
		m.write(m.home(".codex/hooks.json"), before)
		m.install(o)
		if !manifest {
			require.NoError(t, os.RemoveAll(m.machine.State))
		}
		m.uninstall(install.Options{Agents: []string{"codex"}})
		require.Equal(t, before, m.read(m.home(".codex/hooks.json")), "manifest: %v", manifest)
	}
}

func TestUninstall_WithoutManifestRemovesEmptyLists(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.write(m.home(claudeFile), "{\n  \"model\": \"opus\"\n}\n")
	m.install(installOptions("claude-code"))
	require.NoError(t, os.RemoveAll(m.machine.State))
	m.uninstall(install.Options{})
	require.Equal(t, "{\n  \"model\": \"opus\"\n}\n", m.read(m.home(claudeFile)))
}

func TestUninstall_ManifestLostBeforeUpgrade(t *testing.T) {
	t.Parallel()
	for agent, file := range map[string]string{"claude-code": claudeFile, "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"} {
		for _, before := range []string{
			"{\n  \"description\": \"opus\"\n}\n",
			"{\"hooks\": {\"Stop\": [\n  {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n]}}",
		} {
			m := newTestMachine(t)
			m.write(m.home(file), before)
			m.install(installOptions(agent))
			// An entry of an event that this version does not install any more.
			m.write(m.home(file), strings.Replace(m.read(m.home(file)), `"SessionStart"`, `"PostToolBatch"`, 1))
			require.NoError(t, os.RemoveAll(m.machine.State))
			m.install(installOptions(agent))
			require.NotContains(t, m.read(m.home(file)), "PostToolBatch")
			m.uninstall(install.Options{})
			after := m.read(m.home(file))
			require.Equal(t, before, after, agent)
		}
	}
}

func TestInstall_ModifiedEntryIsKept(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.install(installOptions("claude-code"))
	file := m.home(claudeFile)
	edited := strings.Replace(m.read(file), `"timeout": 3600,`, `"timeout": 60,`, 1)
	require.NotEqual(t, edited, m.read(file))
	m.write(file, edited)

	p := m.install(installOptions("claude-code"))
	require.Equal(t, edited, m.read(file))
	require.Equal(t, "PermissionRequest: the entry was changed by hand and was kept; use --force to overwrite it", planNotes(p))

	p = m.uninstall(install.Options{})
	require.Equal(t, "PermissionRequest: the entry was changed by hand and was kept; use --force to remove it", planNotes(p))
	require.Equal(t, 1, strings.Count(m.read(file), binary))
	p = m.uninstall(install.Options{Force: true})
	require.Empty(t, planNotes(p))

	m.install(installOptions("claude-code"))
	m.write(file, strings.ReplaceAll(m.read(file), `"timeout": 3600`, `"timeout": 60`))
	p = m.install(installOptions("claude-code"))
	require.Equal(t, "PreToolUse, PermissionRequest, PreSkillShellCommand, PermissionDenied: the entries were changed by hand and were kept; use --force to overwrite them", planNotes(p))
	m.uninstall(install.Options{Force: true})
	require.NoFileExists(t, file, "the file did not exist before")
}

func TestInstall_ForceOverwritesModifiedEntry(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.install(installOptions("gemini"))
	file := m.home(".gemini/settings.json")
	want := m.read(file)
	m.write(file, strings.Replace(want, "3600000", "5", 1))
	o := installOptions("gemini")
	o.Force = true
	m.install(o)
	require.Equal(t, want, m.read(file))
}

func TestInstall_ReformattedFileIsUnchanged(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.install(installOptions("antigravity"))
	file := m.home(".gemini/config/hooks.json")
	compact, err := minify(m.read(file))
	require.NoError(t, err)
	// Antigravity's command line rewrites the file on one line, with an empty member.
	compact = strings.Replace(compact, `"type":"command"`, `"prompt":"","type":"command"`, 1)
	m.write(file, compact)
	require.False(t, planHasChanges(m.plan(installOptions("antigravity"))))
	p := m.uninstall(install.Options{})
	require.Empty(t, planNotes(p))
	require.NoFileExists(t, file)
}

func TestUninstall_KeepsForeignHandlersInGroup(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.install(installOptions("droid"))
	file := m.home(".factory/hooks.json")
	theirs := `{"type": "command", "command": "theirs"}`
	m.write(file, strings.Replace(m.read(file), "\"hooks\": [\n        {", "\"hooks\": [\n        "+theirs+",\n        {", 1))
	require.False(t, planHasChanges(m.plan(installOptions("droid"))), "our handler is correct")
	m.uninstall(install.Options{})
	require.Equal(t, "{\n  \"SessionStart\": [\n    {\n      \"hooks\": [\n        "+theirs+"\n      ]\n    }\n  ]\n}\n", m.read(file))
}

// Droid ignores "hooks" in its hooks.json.
func TestInspect_EntryThatDroidIgnoresIsNoInstallation(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	file := m.home(".factory/hooks.json")
	m.write(file, `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/a/hookback hook droid"}]}, {"hooks": [{"type": "command", "command": "theirs"}]}]}}`)
	require.Empty(t, m.inspect(), "an ignored entry is not an installation")
	m.install(installOptions("droid"))
	m.uninstall(install.Options{})
	require.NotContains(t, m.read(file), "hookback hook droid --")
	require.Contains(t, m.read(file), "theirs")
}

func TestInstall_MergesDuplicateEntries(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.write(m.home(".config/crush/crush.json"), `{"hooks": {"PreToolUse": [
  {"command": "/a/hookback hook crush"},
  {"command": "/b/hookback hook crush --observe"},
  {"command": "/b/hookback hook crush; rm x"},
  {"command": "hookbackup hook crush"}
]}}`)
	m.install(installOptions("crush"))
	require.Equal(t, `{"hooks": {"PreToolUse": [
  {
    "name": "hookback",
    "command": "[ -x /opt/hookback/bin/hookback ] || exit 0; exec /opt/hookback/bin/hookback hook crush --event PreToolUse --limit 3600s",
    "timeout": 3600
  },
  {"command": "/b/hookback hook crush; rm x"},
  {"command": "hookbackup hook crush"}
]}}`, m.read(m.home(".config/crush/crush.json")))
}

func TestInstall_SkipsUnparsableFile(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	broken := "{\n  \"hooks\": {\n    \"Stop\": [}\n}\n"
	m.write(m.home(claudeFile), broken)
	o := installOptions("claude-code")
	o.Agents = []string{"claude-code", "codex"}
	p := m.plan(o)
	require.Len(t, p.Problems, 1)
	require.Equal(t, m.home(claudeFile)+`: line 3, column 14: invalid character '}' at start of value`, p.Problems[0].Error())
	require.Empty(t, p.Apply())
	require.Equal(t, broken, m.read(m.home(claudeFile)))
	require.FileExists(t, m.home(".codex/hooks.json"))
}

func TestApply_ConcurrentChangeIsRejected(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"{}", ""} {
		m := newTestMachine(t)
		file := m.home(claudeFile)
		if before != "" {
			m.write(file, before)
		}
		p := m.plan(installOptions("claude-code"))
		m.write(file, `{"theirs": 1}`)
		failed := p.Apply()
		require.Len(t, failed, 1)
		require.ErrorIs(t, failed[0].Err, install.ErrConcurrent)
		require.Equal(t, `{"theirs": 1}`, m.read(file))
		files, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".hookback-*"))
		require.NoError(t, err)
		require.Empty(t, files)
	}
}

func TestApply_ReadOnlyFileIsRejected(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	file := m.home(claudeFile)
	m.write(file, "{}")
	require.NoError(t, os.Chmod(file, 0o400))
	failed := m.plan(installOptions("claude-code")).Apply()
	require.Len(t, failed, 1)
	require.ErrorContains(t, failed[0].Err, "read-only")
	require.Equal(t, "{}", m.read(file))
}

func TestInstall_DirectoryErrorIsReported(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.write(m.home(".codex"), "a file")
	p, err := install.Install(m.machine, installOptions("codex"))
	require.NoError(t, err)
	require.NotEmpty(t, append(p.Problems, p.Apply()...))
	require.Equal(t, "a file", m.read(m.home(".codex")))
}

func TestInstall_FollowsLinksAndKeepsMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("creating links requires a privilege on Windows")
	}
	m := newTestMachine(t)
	dotfiles, file := m.home("dotfiles/claude.json"), m.home(claudeFile)
	m.write(dotfiles, "{}\n")
	require.NoError(t, os.Chmod(dotfiles, 0o640))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.Symlink(dotfiles, file))
	m.install(installOptions("claude-code"))
	info, err := os.Lstat(file)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	require.Contains(t, m.read(dotfiles), binary)
	info, err = os.Stat(dotfiles)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	m.uninstall(install.Options{})
	require.Equal(t, "{}\n", m.read(dotfiles))

	require.NoError(t, os.Remove(dotfiles))
	p := m.plan(installOptions("claude-code"))
	require.ErrorContains(t, p.Problems[0], "the link has no target")
}

func TestApply_KeepsFiveBackups(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	file := m.home(claudeFile)
	for i := range 8 {
		m.write(file, fmt.Sprintf(`{"n": %d}`, i))
		m.install(installOptions("claude-code"))
	}
	kept, err := filepath.Glob(filepath.Join(m.machine.State, "backups", "*"))
	require.NoError(t, err)
	require.Len(t, kept, 5)
	require.Equal(t, `{"n": 7}`, m.read(kept[4]))
	require.Equal(t, `{"n": 3}`, m.read(kept[0]))
	info, err := os.Stat(kept[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestApply_LockAllowsOneInstall(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	lock := filepath.Join(m.machine.State, "install.lock")
	m.write(lock, "")
	require.NoError(t, os.Chtimes(lock, m.now, m.now))
	failed := m.plan(installOptions("codex")).Apply()
	require.Len(t, failed, 1)
	require.ErrorIs(t, failed[0].Err, install.ErrBusy)
	require.NoFileExists(t, m.home(".codex/hooks.json"))
	require.NoError(t, os.Chtimes(lock, m.now.Add(-2e12), m.now.Add(-2e12)))
	require.Empty(t, m.plan(installOptions("codex")).Apply(), "the lock of a crashed installation expires")
	require.NoFileExists(t, lock)
}

func TestManifest_UnreadableFileStopsInstall(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.write(filepath.Join(m.machine.State, "installed.json"), "{")
	_, err := install.Install(m.machine, installOptions("codex"))
	require.ErrorContains(t, err, "installed.json")
	_, err = install.Remove(m.machine, install.Options{})
	require.ErrorContains(t, err, "recognized by their command only")
}

func TestUninstall_UserScopeKeepsForeignProjects(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	foreign := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "hookback hook claude-code"}]}]}}`
	m.write(m.project(claudeFile), foreign)
	m.uninstall(install.Options{})
	require.Equal(t, foreign, m.read(m.project(claudeFile)), "another person installed it")
	m.uninstall(install.Options{Scope: install.Project})
	require.JSONEq(t, `{}`, m.read(m.project(claudeFile)))

	o := installOptions("claude-code")
	o.Scope = install.Project
	m.install(o)
	m.machine.Dir = t.TempDir()
	m.uninstall(install.Options{})
	require.JSONEq(t, `{}`, m.read(filepath.Join(m.machine.Home, "..", "project", claudeFile)), "this file is in the manifest")
}

func TestInstall_RejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	for want, change := range map[string]func(*install.Options){
		`unknown agent "cursed"; use claude-code, codex,`:        func(o *install.Options) { o.Agents = []string{"cursed"} },
		`unknown scope "world"; use user, project or local`:      func(o *install.Options) { o.Scope = "world" },
		`unknown mode "both"; use observe, gate or enforce`:      func(o *install.Options) { o.Mode = "both" },
		`the program path "hookback" is not absolute`:            func(o *install.Options) { o.Binary = "hookback" },
		`a hub address in settings must not contain credentials`: func(o *install.Options) { o.Hub = "http://me:secret@hub" },
		`Codex CLI: no settings for scope "local"`:               func(o *install.Options) { o.Agents, o.Scope = []string{"codex"}, install.Local },
		`none exists; create one with /agent create in Kiro`:     func(o *install.Options) { o.Agents = []string{"kiro"} },
		`hooks in mode observe hand over no messages`:            func(o *install.Options) { o.Wake, o.Mode = true, install.Observe },
		`messages can wake sessions of Claude Code only`:         func(o *install.Options) { o.Agents, o.Wake = []string{"codex"}, true },
		`Cursor does not support an https address`:               func(o *install.Options) { o.Agents, o.Hub = []string{"cursor"}, "https://hub" },
	} {
		o := installOptions("claude-code")
		change(&o)
		p, err := install.Install(m.machine, o)
		if err == nil {
			require.Len(t, p.Problems, 1, want)
			err = p.Problems[0]
			require.Empty(t, p.Changes)
		}
		require.ErrorContains(t, err, want)
	}
}

func TestInstall_WritesHubFlag(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	for agent, want := range map[string]string{
		"codex":       `hook codex --event PreToolUse --limit 120s --hub http://10.0.0.7:4000"`,
		"cursor":      `hook cursor --event preToolUse --limit 3600s --hub 10.0.0.7:4000"`,
		"claude-code": `"--event", "PreToolUse", "--limit", "3600s", "--hub", "http://10.0.0.7:4000"]`,
	} {
		o := installOptions(agent)
		o.Hub = "http://10.0.0.7:4000"
		m.install(o)
		file := m.read(m.home(settingsPaths[agent].user))
		require.Contains(t, file, want)
		requireLoads(t, agent, file)
	}
}

func TestInstall_OldClaudeCodeGetsSupportedEvents(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct {
		exec   bool
		events int
	}{"2.1.138": {false, 12}, "2.1.139": {true, 26}, "2.1.330": {true, 28}, "2.1.331": {true, 29}, "": {true, 29}} {
		m := newTestMachine(t)
		m.onPath["claude"], m.version = true, version
		m.install(installOptions("claude-code"))
		file := m.read(m.home(claudeFile))
		require.Equal(t, want.events, strings.Count(file, `"timeout"`), version)
		require.Equal(t, want.exec, strings.Contains(file, `"args"`), version)
		requireLoads(t, "claude-code", file)
		require.NotContains(t, file, "WorktreeCreate")
		require.NotContains(t, file, "MessageDisplay")
	}
}

func TestInstall_EnvironmentMovesSettings(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	for variable, agent := range map[string]string{"CLAUDE_CONFIG_DIR": "claude-code", "CODEX_HOME": "codex", "COPILOT_HOME": "copilot", "XDG_CONFIG_HOME": "crush"} {
		m.env[variable] = m.home("elsewhere/" + agent)
		p := m.plan(installOptions(agent))
		require.True(t, strings.HasPrefix(p.Changes[0].File, m.env[variable]), p.Changes[0].File)
		m.env[variable] = "relative"
		require.False(t, strings.Contains(m.plan(installOptions(agent)).Changes[0].File, "relative"))
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	require.Empty(t, install.Detect(m.machine))
	require.NoError(t, os.MkdirAll(m.home(".cursor"), 0o700))
	m.onPath["codex"] = true
	require.Equal(t, []install.DetectedAgent{
		{Agent: "codex", Title: "Codex CLI", Program: "/usr/bin/codex"},
		{Agent: "cursor", Title: "Cursor", Dir: m.home(".cursor")},
	}, install.Detect(m.machine))
	require.NoError(t, os.MkdirAll(m.home(".gemini/config"), 0o700))
	require.Len(t, install.Detect(m.machine), 3, "Antigravity's directory is in Gemini's, which alone doesn't indicate Gemini CLI")
}

func TestInstall_EveryKiroAgent(t *testing.T) {
	t.Parallel()
	m := newTestMachine(t)
	m.write(m.home(".kiro/agents/a.json"), "{}")
	m.write(m.home(".kiro/agents/b.json"), `{"hooks": {}}`)
	p := m.install(installOptions("kiro"))
	require.Len(t, p.Changes, 2)
	requireLoads(t, "kiro", m.read(m.home(".kiro/agents/a.json")))
	requireLoads(t, "kiro", m.read(m.home(".kiro/agents/b.json")))
	m.uninstall(install.Options{})
	require.Equal(t, "{}", m.read(m.home(".kiro/agents/a.json")))
	require.Equal(t, `{"hooks": {}}`, m.read(m.home(".kiro/agents/b.json")))
}

// Entries must be recognized and removed for any path of the program.
func TestUninstall_UnusualBinaryPaths(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{"/opt/a b/hookback", "/opt/it's/hookback", "/opt/$(id)/hookback", "/opt/two\nlines/hookback", "/opt/`;|&*?[x]#~/hookback"} {
		m := newTestMachine(t)
		before := `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "echo hookback hook gemini"}]}]}}`
		m.write(m.home(".gemini/settings.json"), before)
		o := installOptions("gemini")
		o.Binary = binary
		m.install(o)
		require.NotEqual(t, before, m.read(m.home(".gemini/settings.json")))
		m.uninstall(o)
		require.Equal(t, before, m.read(m.home(".gemini/settings.json")), binary)
	}
}
