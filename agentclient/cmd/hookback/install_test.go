package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// testMachine is a separate home directory with the real program on its PATH.
type testMachine struct {
	t    *testing.T
	ctx  context.Context
	home string
	env  map[string]string
}

func newTestMachine(t *testing.T) *testMachine {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	d := &testMachine{t: t, ctx: ctx, home: t.TempDir()}
	d.env = map[string]string{"HOME": d.home, "PATH": filepath.Dir(program) + ":/usr/bin:/bin"}
	return d
}

// run runs the program in the machine's project.
func (d *testMachine) run(args ...string) cliResult {
	d.t.Helper()
	return d.exec("", append([]string{program}, args...)...)
}

// exec runs a process with the machine's environment.
func (d *testMachine) exec(stdin string, argv ...string) cliResult {
	d.t.Helper()
	cmd := exec.CommandContext(d.ctx, argv[0], argv[1:]...)
	for name, value := range d.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Dir, cmd.Stdin = d.project(), strings.NewReader(stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		require.NoError(d.t, err)
	}
	return cliResult{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

func (d *testMachine) project() string {
	dir := filepath.Join(d.home, "project")
	require.NoError(d.t, os.MkdirAll(dir, 0o700))
	return dir
}

func (d *testMachine) machine() install.Machine {
	d.t.Helper()
	env := func(name string) string { return d.env[name] }
	return install.Machine{Home: d.home, Dir: d.project(), State: account.StateDir(env), Env: env, Now: time.Now, LookPath: exec.LookPath}
}

// installedEntry returns the installed entry of an event.
func (d *testMachine) installedEntry(agent, event string) install.HookEntry {
	d.t.Helper()
	all, err := install.Inspect(d.machine())
	require.NoError(d.t, err)
	for _, hooks := range all {
		for _, e := range hooks.Entries {
			if hooks.Agent == agent && e.Event == event {
				return e
			}
		}
	}
	require.Fail(d.t, "no entry", "%s %s in %+v", agent, event, all)
	return install.HookEntry{}
}

// gateSamples has the event at which each agent's calls are gated, and a sample of its input.
var gateSamples = map[string]struct{ event, sample string }{
	"claude-code": {"PreToolUse", "claude-code-PreToolUse-Bash"},
	"codex":       {"PreToolUse", "codex-PreToolUse"},
	"gemini":      {"BeforeTool", "gemini-BeforeTool"},
	"cursor":      {"beforeShellExecution", "cursor-beforeShellExecution"},
	"copilot":     {"PreToolUse", "copilot-PreToolUse-PascalCase"},
	"opencode":    {"hookback.js", "opencode-permission.asked"},
	"qwen":        {"PreToolUse", "qwen-PreToolUse"},
	"droid":       {"PreToolUse", "droid-PreToolUse"},
	"crush":       {"PreToolUse", "crush-PreToolUse"},
	"cline":       {"PreToolUse", "cline-PreToolUse"},
	"windsurf":    {"pre_run_command", "windsurf-pre_run_command"},
	"antigravity": {"PreToolUse", "antigravity-PreToolUse"},
	"kiro":        {"preToolUse", "kiro-preToolUse"},
}

// The exact command of the settings reports the event to the hub. Without the program it exits
// silently.
func TestInstall_InstalledCommandReportsEvent(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	for agent, gate := range gateSamples {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			d := newTestMachine(t)
			sample, err := os.ReadFile(filepath.Join("..", "..", "hook", "testdata", gate.sample+".json"))
			require.NoError(t, err)
			if agent == "kiro" {
				require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".kiro", "agents"), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(d.home, ".kiro", "agents", "mine.json"), []byte("{}"), 0o600))
			}
			link := filepath.Join(d.home, "a place", "hookback")
			require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o700))
			require.NoError(t, os.Symlink(program, link))
			mode := "gate"
			if agent == "opencode" {
				mode = "observe" // its sample is a question, so gate would ask a person
			}
			got := d.run("install", "--agent", agent, "--hub", hub.URL(), "--binary", link, "--mode", mode)
			require.Equal(t, 0, got.status, got.err)
			entry := d.installedEntry(agent, gate.event)
			require.Equal(t, link, entry.Binary)
			ran := d.exec(string(sample), entry.Argv...)
			require.Equal(t, 0, ran.status)
			require.Empty(t, ran.err)
			require.Contains(t, []string{"", "{}", "{}\n"}, ran.out, "no policy, no opinion")
			deliverSpooled(report.NewSpool(func(name string) string { return d.env[name] }), hub.URL())
			require.Eventually(t, func() bool { return countEvents(t, hub.URL(), agent) > 0 }, 30*time.Second, 10*time.Millisecond)

			require.NoError(t, os.Remove(link))
			if entry.Argv[0] != link { // an agent that starts the program without a shell handles the error itself
				require.Equal(t, cliResult{}, d.exec(string(sample), entry.Argv...), "the program does not exist")
			}
			require.Equal(t, 0, d.run("uninstall").status)
			require.Equal(t, cliResult{out: "Nothing to remove: Hookback is not in any of these settings.\n"}, d.run("uninstall"))
		})
	}
}

// countEvents returns the number of events of an agent at a hub.
func countEvents(t *testing.T, hub, agent string) (n int) {
	t.Helper()
	res, err := http.Get(hub + schema.PathEvents + "?" + url.Values{"limit": {"1000"}}.Encode()) //nolint:noctx // a test's own hub
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	var all []schema.Event
	if json.NewDecoder(res.Body).Decode(&all) != nil {
		return 0
	}
	for _, e := range all {
		if e.Agent == agent {
			n++
		}
	}
	http.DefaultClient.CloseIdleConnections()
	return n
}

func TestInstall_PrintsChanges(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	got := d.run("install")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.err, "no coding agent was found; name one with --agent: claude-code, codex")

	require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".codex"), 0o700))
	file := filepath.Join(d.home, ".codex", "hooks.json")
	got = d.run("install", "--dry-run")
	require.Equal(t, "✓ Codex CLI          ~/.codex/hooks.json: would be written\n", got.out, "without the diff")
	got = d.run("install", "--dry-run", "--verbose")
	require.Equal(t, 0, got.status)
	require.NoFileExists(t, file)
	require.True(t, strings.HasPrefix(got.out, "--- /dev/null\n+++ "+file+"\n@@ -0,0 +1,"), got.out)
	require.Contains(t, got.err, "Codex CLI          found: ~/.codex\n✓ Codex CLI          ~/.codex/hooks.json: would be written\n")

	got = d.run("install")
	require.Equal(t, "✓ Codex CLI          ~/.codex/hooks.json: written\n", got.out)
	require.Contains(t, got.err, "open /hooks in Codex and trust them.\n")
	require.Contains(t, got.err, "hookback doctor checks the installation; hookback uninstall removes it.\n")
	require.Contains(t, got.err, "There is no hookback.json, so Hookback receives only the agents' own permission prompts; hookback policy init writes one.\n")
	got = d.run("install", "--agent", "auto")
	require.Equal(t, "✓ Codex CLI          ~/.codex/hooks.json: up to date\n", got.out)
	require.NotContains(t, got.err, "/hooks")
	require.NotContains(t, got.err, "doctor")

	require.NoError(t, os.WriteFile(filepath.Join(d.project(), "hookback.json"), []byte(`{"rules": []}`), 0o600))
	require.NotContains(t, d.run("install").err, "hookback.json")

	require.NoError(t, os.WriteFile(file, []byte("{\n oops"), 0o600))
	got = d.run("install")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.err, "✗ Codex CLI          ~/.codex/hooks.json: line 2, column 2: invalid literal: oops\n")
}

func TestInstall_DeduplicatesAgents(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	got := d.run("install", "--agent", "codex,claude,codex", "--agent", "claude-code")
	require.Zero(t, got.status, got.err)
	require.Equal(t, 1, strings.Count(got.out, "Codex CLI  "), got.out)
	require.Equal(t, 1, strings.Count(got.out, "Claude Code  "), got.out)
}

// Cline has one file per event.
func TestInstall_GroupsSimilarFiles(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	const hooks = "✓ Cline              ~/Documents/Cline/Hooks: "
	require.Equal(t, hooks+"written (10 files)\n", d.run("install", "--agent", "cline").out)
	require.Equal(t, hooks+"up to date (10 files)\n", d.run("install", "--agent", "cline").out)
	file := filepath.Join(d.home, "Documents", "Cline", "Hooks", "PreToolUse")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, "# mine\n"...), 0o700)) //nolint:gosec // it is run
	got := d.run("uninstall")
	require.Contains(t, got.out, "  ! it was changed by hand and was kept; use --force to remove it\n")
	require.NotContains(t, got.out, "(10 files)")
	require.FileExists(t, file)
}

// Agents without local settings are skipped, unless they are named.
func TestInstall_LocalScopeIsClaudeOnly(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	for _, dir := range []string{".claude", ".codex", ".cursor"} {
		require.NoError(t, os.MkdirAll(filepath.Join(d.home, dir), 0o700))
	}
	got := d.run("install", "--scope", "local")
	require.Equal(t, 0, got.status, got.err)
	require.Equal(t, "✓ Claude Code        ~/project/.claude/settings.local.json: written\n", got.out)
	got = d.run("install", "--agent", "codex", "--scope", "local")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.err, "✗ Codex CLI          no settings for scope \"local\"\n")
}

func TestInstall_RejectsInvalidFlags(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	for want, args := range map[string][]string{
		"install takes flags only":                       {"claude"},
		`unknown agent "clod"`:                           {"--agent", "clod"},
		`unknown scope "global"`:                         {"--agent", "claude", "--scope", "global"},
		`unknown mode "watch"`:                           {"--agent", "claude", "--mode", "watch"},
		"--binary: stat":                                 {"--agent", "claude", "--binary", "/nowhere/hookback"},
		"is a directory":                                 {"--agent", "claude", "--binary", "/"},
		"is a temporary build of go run":                 {"--agent", "claude", "--binary", "/tmp/go-build123/b001/exe/hookback"},
		`set an address with a password in HOOKBACK_URL`: {"--agent", "claude", "--hub", "http://a:b@c"},
		`"ftp://x" is not a valid hub address`:           {"--agent", "claude", "--hub", "ftp://x"},
		"flag provided but not defined: -unknown":        {"--unknown"},
	} {
		got := d.run(append([]string{"install"}, args...)...)
		require.Equal(t, 2, got.status, want)
		require.Contains(t, got.err, want)
	}
	d.env["HOME"] = ""
	require.Contains(t, d.run("install").err, "this user has no home directory")
}

// The settings always name the hub: otherwise HOOKBACK_URL in an agent's environment would
// choose who approves.
func TestInstall_AlwaysWritesHub(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	file := filepath.Join(d.home, ".codex", "hooks.json")
	for address, want := range map[string]string{
		"http://127.0.0.1:4000/": " --hub http://127.0.0.1:4000\"", "localhost:4000": " --hub http://localhost:4000\"", "": " --hub http://127.0.0.1:4000\"",
		"10.0.0.7:4000": " --hub http://10.0.0.7:4000\"", "https://h.example/hub/": " --hub https://h.example/hub\"",
	} {
		d.env["HOOKBACK_URL"] = address
		require.Equal(t, 0, d.run("install", "--agent", "codex").status)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), want)
	}
}

func TestInstall_PrefersSymlinkOnPath(t *testing.T) {
	t.Parallel()
	d := newTestMachine(t)
	link := filepath.Join(d.home, "bin", "hookback")
	require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o700))
	require.NoError(t, os.Symlink(program, link))
	d.env["PATH"] = filepath.Dir(link)
	require.Equal(t, 0, d.run("install", "--agent", "codex").status)
	require.Equal(t, link, d.installedEntry("codex", "Stop").Binary)
}
