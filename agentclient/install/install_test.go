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
	b := newTestMachine(t)
	b.write(b.home(claudeFile), "{}\n")
	before := readTree(t, filepath.Dir(b.machine.Home))
	p := b.plan(installOptions("claude-code"))
	require.True(t, planHasChanges(p))
	require.Equal(t, before, readTree(t, filepath.Dir(b.machine.Home)))
	diff := p.Changes[0].Diff()
	require.True(t, strings.HasPrefix(diff, "--- "+b.home(claudeFile)+"\n+++ "+b.home(claudeFile)+"\n@@ -1,1 +1,"), diff)
	require.Contains(t, diff, "\n+  \"hooks\": {\n")
}

func TestInstall_UpgradeReplacesOwnEntries(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"claude-code", "codex", "cursor", "copilot", "antigravity", "cline"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			b := newTestMachine(t)
			old := installOptions(agent)
			old.Binary, old.Mode = "/old place/hookback", install.Observe
			b.install(old)
			b.install(installOptions(agent))
			fresh := newTestMachine(t)
			fresh.install(installOptions(agent))
			want := readTree(t, fresh.machine.Home)
			require.Equal(t, want, readTree(t, b.machine.Home), "equals a fresh installation")
			b.uninstall(install.Options{})
			for name := range readTree(t, b.machine.Home) {
				require.Equal(t, "/", name)
			}
		})
	}
}

func TestUninstall_MovedBinaryIsRecognized(t *testing.T) {
	t.Parallel()
	for _, manifest := range []bool{true, false} {
		b := newTestMachine(t)
		o := installOptions("codex")
		o.Binary = "/some/where/hookback-1.2"
		if !manifest {
			o.Binary = "/some/where/it's here/hookback"
		}
		before := "{\"hooks\": {\"Stop\": [\n  {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n]}}"
		b.write(b.home(".codex/hooks.json"), before)
		b.install(o)
		if !manifest {
			require.NoError(t, os.RemoveAll(b.machine.State))
		}
		b.uninstall(install.Options{Agents: []string{"codex"}})
		require.Equal(t, before, b.read(b.home(".codex/hooks.json")), "manifest: %v", manifest)
	}
}

func TestUninstall_WithoutManifestRemovesEmptyLists(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.write(b.home(claudeFile), "{\n  \"model\": \"opus\"\n}\n")
	b.install(installOptions("claude-code"))
	require.NoError(t, os.RemoveAll(b.machine.State))
	b.uninstall(install.Options{})
	require.Equal(t, "{\n  \"model\": \"opus\"\n}\n", b.read(b.home(claudeFile)))
}

func TestInstall_ModifiedEntryIsKept(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.install(installOptions("claude-code"))
	file := b.home(claudeFile)
	edited := strings.Replace(b.read(file), `"timeout": 3600,`, `"timeout": 60,`, 1)
	require.NotEqual(t, edited, b.read(file))
	b.write(file, edited)

	p := b.install(installOptions("claude-code"))
	require.Equal(t, edited, b.read(file))
	require.Equal(t, "PermissionRequest: the entry was changed by hand and was kept; use --force to overwrite it", planNotes(p))

	p = b.uninstall(install.Options{})
	require.Equal(t, "PermissionRequest: the entry was changed by hand and was kept; use --force to remove it", planNotes(p))
	require.Equal(t, 1, strings.Count(b.read(file), binary))
	p = b.uninstall(install.Options{Force: true})
	require.Empty(t, planNotes(p))

	b.install(installOptions("claude-code"))
	b.write(file, strings.ReplaceAll(b.read(file), `"timeout": 3600`, `"timeout": 60`))
	p = b.install(installOptions("claude-code"))
	require.Equal(t, "PreToolUse, PermissionRequest: the entries were changed by hand and were kept; use --force to overwrite them", planNotes(p))
	b.uninstall(install.Options{Force: true})
	require.NoFileExists(t, file, "the file did not exist before")
}

func TestInstall_ForceOverwritesModifiedEntry(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.install(installOptions("gemini"))
	file := b.home(".gemini/settings.json")
	want := b.read(file)
	b.write(file, strings.Replace(want, "3600000", "5", 1))
	o := installOptions("gemini")
	o.Force = true
	b.install(o)
	require.Equal(t, want, b.read(file))
}

func TestInstall_ReformattedFileIsUnchanged(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.install(installOptions("antigravity"))
	file := b.home(".gemini/config/hooks.json")
	compact, err := install.Minify(b.read(file))
	require.NoError(t, err)
	// Antigravity's command line rewrites the file on one line, with an empty member.
	compact = strings.Replace(compact, `"type":"command"`, `"prompt":"","type":"command"`, 1)
	b.write(file, compact)
	require.False(t, planHasChanges(b.plan(installOptions("antigravity"))))
	p := b.uninstall(install.Options{})
	require.Empty(t, planNotes(p))
	require.NoFileExists(t, file)
}

func TestUninstall_KeepsForeignHandlersInGroup(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.install(installOptions("droid"))
	file := b.home(".factory/hooks.json")
	theirs := `{"type": "command", "command": "theirs"}`
	b.write(file, strings.Replace(b.read(file), "\"hooks\": [\n          {", "\"hooks\": [\n          "+theirs+",\n          {", 1))
	require.False(t, planHasChanges(b.plan(installOptions("droid"))), "our handler is correct")
	b.uninstall(install.Options{})
	require.Equal(t, "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          "+theirs+"\n        ]\n      }\n    ]\n  }\n}\n", b.read(file))
}

func TestInstall_MergesDuplicateEntries(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.write(b.home(".config/crush/crush.json"), `{"hooks": {"PreToolUse": [
  {"command": "/a/hookback hook crush"},
  {"command": "/b/hookback hook crush --observe"},
  {"command": "/b/hookback hook crush; rm x"},
  {"command": "hookbackup hook crush"}
]}}`)
	b.install(installOptions("crush"))
	require.Equal(t, `{"hooks": {"PreToolUse": [
  {
    "name": "hookback",
    "command": "[ -x /opt/hookback/bin/hookback ] || exit 0; exec /opt/hookback/bin/hookback hook crush --limit 3600s",
    "timeout": 3600
  },
  {"command": "/b/hookback hook crush; rm x"},
  {"command": "hookbackup hook crush"}
]}}`, b.read(b.home(".config/crush/crush.json")))
}

func TestInstall_SkipsUnparsableFile(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	broken := "{\n  \"hooks\": {\n    \"Stop\": [}\n}\n"
	b.write(b.home(claudeFile), broken)
	o := installOptions("claude-code")
	o.Agents = []string{"claude-code", "codex"}
	p := b.plan(o)
	require.Len(t, p.Problems, 1)
	require.Equal(t, b.home(claudeFile)+`: line 3, column 14: expected a value, found "}"`, p.Problems[0].Error())
	require.Empty(t, p.Apply())
	require.Equal(t, broken, b.read(b.home(claudeFile)))
	require.FileExists(t, b.home(".codex/hooks.json"))
}

func TestApply_ConcurrentChangeIsRejected(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"{}", ""} {
		b := newTestMachine(t)
		file := b.home(claudeFile)
		if before != "" {
			b.write(file, before)
		}
		p := b.plan(installOptions("claude-code"))
		b.write(file, `{"theirs": 1}`)
		failed := p.Apply()
		require.Len(t, failed, 1)
		require.ErrorIs(t, failed[0].Err, install.ErrConcurrent)
		require.Equal(t, `{"theirs": 1}`, b.read(file))
		files, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".hookback-*"))
		require.NoError(t, err)
		require.Empty(t, files)
	}
}

func TestApply_ReadOnlyFileIsRejected(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	file := b.home(claudeFile)
	b.write(file, "{}")
	require.NoError(t, os.Chmod(file, 0o400))
	failed := b.plan(installOptions("claude-code")).Apply()
	require.Len(t, failed, 1)
	require.ErrorContains(t, failed[0].Err, "read-only")
	require.Equal(t, "{}", b.read(file))
}

func TestInstall_DirectoryErrorIsReported(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.write(b.home(".codex"), "a file")
	p, err := install.Install(b.machine, installOptions("codex"))
	require.NoError(t, err)
	require.NotEmpty(t, append(p.Problems, p.Apply()...))
	require.Equal(t, "a file", b.read(b.home(".codex")))
}

func TestInstall_FollowsLinksAndKeepsMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("creating links requires a privilege on Windows")
	}
	b := newTestMachine(t)
	dotfiles, file := b.home("dotfiles/claude.json"), b.home(claudeFile)
	b.write(dotfiles, "{}\n")
	require.NoError(t, os.Chmod(dotfiles, 0o640))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.Symlink(dotfiles, file))
	b.install(installOptions("claude-code"))
	info, err := os.Lstat(file)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	require.Contains(t, b.read(dotfiles), binary)
	info, err = os.Stat(dotfiles)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	b.uninstall(install.Options{})
	require.Equal(t, "{}\n", b.read(dotfiles))

	require.NoError(t, os.Remove(dotfiles))
	p := b.plan(installOptions("claude-code"))
	require.ErrorContains(t, p.Problems[0], "the link has no target")
}

func TestApply_KeepsFiveBackups(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	file := b.home(claudeFile)
	for i := range 8 {
		b.write(file, fmt.Sprintf(`{"n": %d}`, i))
		b.install(installOptions("claude-code"))
	}
	kept, err := filepath.Glob(filepath.Join(b.machine.State, "backups", "*"))
	require.NoError(t, err)
	require.Len(t, kept, 5)
	require.Equal(t, `{"n": 7}`, b.read(kept[4]))
	require.Equal(t, `{"n": 3}`, b.read(kept[0]))
	info, err := os.Stat(kept[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestApply_LockAllowsOneInstall(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	lock := filepath.Join(b.machine.State, "install.lock")
	b.write(lock, "")
	require.NoError(t, os.Chtimes(lock, b.now, b.now))
	failed := b.plan(installOptions("codex")).Apply()
	require.Len(t, failed, 1)
	require.ErrorIs(t, failed[0].Err, install.ErrBusy)
	require.NoFileExists(t, b.home(".codex/hooks.json"))
	require.NoError(t, os.Chtimes(lock, b.now.Add(-2e12), b.now.Add(-2e12)))
	require.Empty(t, b.plan(installOptions("codex")).Apply(), "the lock of a crashed installation expires")
	require.NoFileExists(t, lock)
}

func TestManifest_UnreadableFileStopsInstall(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.write(filepath.Join(b.machine.State, "installed.json"), "{")
	_, err := install.Install(b.machine, installOptions("codex"))
	require.ErrorContains(t, err, "installed.json")
	_, err = install.Remove(b.machine, install.Options{})
	require.ErrorContains(t, err, "recognized by their command only")
}

func TestUninstall_UserScopeKeepsForeignProjects(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	foreign := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "hookback hook claude-code"}]}]}}`
	b.write(b.project(claudeFile), foreign)
	b.uninstall(install.Options{})
	require.Equal(t, foreign, b.read(b.project(claudeFile)), "another person installed it")
	b.uninstall(install.Options{Scope: install.Project})
	require.JSONEq(t, `{}`, b.read(b.project(claudeFile)))

	o := installOptions("claude-code")
	o.Scope = install.Project
	b.install(o)
	b.machine.Dir = t.TempDir()
	b.uninstall(install.Options{})
	require.JSONEq(t, `{}`, b.read(filepath.Join(b.machine.Home, "..", "project", claudeFile)), "this file is in the manifest")
}

func TestInstall_RejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	for want, change := range map[string]func(*install.Options){
		`unknown agent "cursed"; use claude-code, codex,`:        func(o *install.Options) { o.Agents = []string{"cursed"} },
		`unknown scope "world"; use user, project or local`:      func(o *install.Options) { o.Scope = "world" },
		`unknown mode "both"; use observe or gate`:               func(o *install.Options) { o.Mode = "both" },
		`the program path "hookback" is not absolute`:            func(o *install.Options) { o.Binary = "hookback" },
		`a hub address in settings must not contain credentials`: func(o *install.Options) { o.Hub = "http://me:secret@hub" },
		`Codex CLI: no settings for scope "local"`:               func(o *install.Options) { o.Agents, o.Scope = []string{"codex"}, install.Local },
		`none exists; create one with /agent create in Kiro`:     func(o *install.Options) { o.Agents = []string{"kiro"} },
		`Cursor does not support an https address`:               func(o *install.Options) { o.Agents, o.Hub = []string{"cursor"}, "https://hub" },
	} {
		o := installOptions("claude-code")
		change(&o)
		p, err := install.Install(b.machine, o)
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
	b := newTestMachine(t)
	for agent, want := range map[string]string{
		"codex":       `hook codex --limit 120s --hub http://10.0.0.7:4000"`,
		"cursor":      `hook cursor --limit 3600s --hub 10.0.0.7:4000"`,
		"claude-code": `"--limit", "3600s", "--hub", "http://10.0.0.7:4000"]`,
	} {
		o := installOptions(agent)
		o.Hub = "http://10.0.0.7:4000"
		b.install(o)
		file := b.read(b.home(settingsPaths[agent].user))
		require.Contains(t, file, want)
		requireLoads(t, agent, file)
	}
}

func TestInstall_OldClaudeCodeGetsSupportedEvents(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct {
		exec   bool
		events int
	}{"2.1.138": {false, 12}, "2.1.139": {true, 26}, "2.1.329": {true, 29}, "": {true, 29}} {
		b := newTestMachine(t)
		b.onPath["claude"], b.version = true, version
		b.install(installOptions("claude-code"))
		file := b.read(b.home(claudeFile))
		require.Equal(t, want.events, strings.Count(file, `"timeout"`), version)
		require.Equal(t, want.exec, strings.Contains(file, `"args"`), version)
		requireLoads(t, "claude-code", file)
		require.NotContains(t, file, "WorktreeCreate")
		require.NotContains(t, file, "MessageDisplay")
	}
}

func TestInstall_EnvironmentMovesSettings(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	for variable, agent := range map[string]string{"CLAUDE_CONFIG_DIR": "claude-code", "CODEX_HOME": "codex", "COPILOT_HOME": "copilot", "XDG_CONFIG_HOME": "crush"} {
		b.env[variable] = b.home("elsewhere/" + agent)
		p := b.plan(installOptions(agent))
		require.True(t, strings.HasPrefix(p.Changes[0].File, b.env[variable]), p.Changes[0].File)
		b.env[variable] = "relative"
		require.False(t, strings.Contains(b.plan(installOptions(agent)).Changes[0].File, "relative"))
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	require.Empty(t, install.Detect(b.machine))
	require.NoError(t, os.MkdirAll(b.home(".cursor"), 0o700))
	b.onPath["codex"] = true
	require.Equal(t, []install.DetectedAgent{
		{Agent: "codex", Title: "Codex CLI", Program: "/usr/bin/codex"},
		{Agent: "cursor", Title: "Cursor", Dir: b.home(".cursor")},
	}, install.Detect(b.machine))
	require.NoError(t, os.MkdirAll(b.home(".gemini/config"), 0o700))
	require.Len(t, install.Detect(b.machine), 3, "Antigravity's directory is in Gemini's, which alone doesn't indicate Gemini CLI")
}

func TestInstall_EveryKiroAgent(t *testing.T) {
	t.Parallel()
	b := newTestMachine(t)
	b.write(b.home(".kiro/agents/a.json"), "{}")
	b.write(b.home(".kiro/agents/b.json"), `{"hooks": {}}`)
	p := b.install(installOptions("kiro"))
	require.Len(t, p.Changes, 2)
	requireLoads(t, "kiro", b.read(b.home(".kiro/agents/a.json")))
	requireLoads(t, "kiro", b.read(b.home(".kiro/agents/b.json")))
	b.uninstall(install.Options{})
	require.Equal(t, "{}", b.read(b.home(".kiro/agents/a.json")))
	require.Equal(t, `{"hooks": {}}`, b.read(b.home(".kiro/agents/b.json")))
}

// Entries must be recognized and removed for any path of the program.
func TestUninstall_UnusualBinaryPaths(t *testing.T) {
	t.Parallel()
	for _, binary := range []string{"/opt/a b/hookback", "/opt/it's/hookback", "/opt/$(id)/hookback", "/opt/two\nlines/hookback", "/opt/`;|&*?[x]#~/hookback"} {
		b := newTestMachine(t)
		before := `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "echo hookback hook gemini"}]}]}}`
		b.write(b.home(".gemini/settings.json"), before)
		o := installOptions("gemini")
		o.Binary = binary
		b.install(o)
		require.NotEqual(t, before, b.read(b.home(".gemini/settings.json")))
		b.uninstall(o)
		require.Equal(t, before, b.read(b.home(".gemini/settings.json")), binary)
	}
}
