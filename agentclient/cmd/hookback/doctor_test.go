package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// doctorReport is the JSON output of doctor.
type doctorReport struct {
	Healthy  bool
	Findings []struct{ Agent, State, Text, Remedy string }
}

func (d *testMachine) doctor(args ...string) (v doctorReport) {
	d.t.Helper()
	got := d.run(append([]string{"doctor", "--json", "--runs", "2"}, args...)...)
	require.NoError(d.t, json.Unmarshal([]byte(got.out), &v), got.out+got.err)
	require.Equal(d.t, map[bool]int{true: 0, false: 1}[v.Healthy], got.status)
	require.Empty(d.t, got.err)
	return v
}

// lines returns the findings of a severity with their remedies, one per line.
func (v doctorReport) lines(state string) string {
	var all []string
	for _, f := range v.Findings {
		if f.State == state {
			all = append(all, f.Agent+": "+f.Text+" → "+f.Remedy)
		}
	}
	return strings.Join(all, "\n")
}

// countPending returns the number of pending questions at a hub.
func countPending(t *testing.T, hub string) int {
	t.Helper()
	var waiting []schema.Event
	require.NoError(t, getJSON(t, hub+schema.PathEvents+"?status=pending", &waiting))
	return len(waiting)
}

// Each agent's own command denies a call that is denied at the hub. No request is left behind.
func TestDoctor_ProbesGateOfEveryAgent(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	t.Run("agents", func(t *testing.T) {
		for agent := range gateSamples {
			t.Run(agent, func(t *testing.T) {
				t.Parallel()
				d := newTestMachine(t)
				if agent == "kiro" {
					require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".kiro", "agents"), 0o700))
					require.NoError(t, os.WriteFile(filepath.Join(d.home, ".kiro", "agents", "mine.json"), []byte("{}"), 0o600))
				}
				d.env["HOOKBACK_URL"] = hub.URL()
				require.Equal(t, 0, d.run("install", "--agent", agent).status)
				v := d.doctor()
				require.True(t, v.Healthy, v.lines("problem"))
				found := v.lines("ok")
				require.Contains(t, found, ": the hub at "+hub.URL()+" answers (ok, version ")
				require.Contains(t, found, ") through TCP ")
				require.Contains(t, found, ": a test event arrived in ")
				require.Contains(t, found, agent+": the gate works: a made-up call was denied in ")
				require.Contains(t, found+v.lines("look"), agent+": a hook takes ")
				require.Contains(t, v.lines("look"), agent+": not proven: no event came since it was installed")
			})
		}
	})
	require.Zero(t, countPending(t, hub.URL()))
}

func TestDoctor_ObserveModeSkipsGateProbe(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	d := newTestMachine(t)
	d.env["HOOKBACK_URL"] = hub.URL()
	require.Equal(t, 0, d.run("install", "--agent", "gemini", "--mode", "observe").status)
	v := d.doctor()
	require.True(t, v.Healthy, v.lines("problem"))
	require.Contains(t, v.lines("ok"), "8 hooks (observe)")
	require.NotContains(t, v.lines("ok"), "the gate")
}

func TestDoctor_ReportsFindings(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	script := func(d *testMachine, text string) string {
		path := filepath.Join(d.home, "bin", "hookback")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700)) //nolint:gosec // a script
		return path
	}
	edit := func(t *testing.T, d *testMachine, file, from, to string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(d.home, file))
		require.NoError(t, err)
		require.Contains(t, string(text), from)
		require.NoError(t, os.WriteFile(filepath.Join(d.home, file), []byte(strings.Replace(string(text), from, to, 1)), 0o600))
	}
	const settings = ".claude/settings.json"
	claudeVersion := install.ProvenVersion("claude-code")
	for name, test := range map[string]struct {
		state string
		setup func(t *testing.T, d *testMachine) []string // returns the flags of doctor
		want  string
	}{
		"not installed": {"problem", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("uninstall").status)
			return nil
		}, ": Hookback is not installed for any agent → hookback install"},
		"no hub": {"problem", func(*testing.T, *testMachine) []string {
			return []string{"--hub", "http://127.0.0.1:1"}
		}, ": no hub answers at http://127.0.0.1:1: "},
		"invalid address": {"problem", func(*testing.T, *testMachine) []string {
			return []string{"--hub", "ftp://x"}
		}, "fix HOOKBACK_URL or --hub"},
		"missing program": {"problem", func(t *testing.T, d *testMachine) []string {
			path := script(d, "exit 0")
			require.Equal(t, 0, d.run("install", "--agent", "claude", "--binary", path).status)
			require.NoError(t, os.Remove(path))
			return nil
		}, "claude-code: ~/" + settings + ": the program HOME/bin/hookback does not exist or is not executable → hookback install --agent claude-code --scope user --mode gate"},
		"other program": {"problem", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("install", "--agent", "claude", "--binary", script(d, "cat >/dev/null")).status)
			return nil
		}, `claude-code: the gate does not block calls: the hub received no question (the hook printed "") → check ~/.local/state/hookback/hook.log`},
		"failing program": {"problem", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("install", "--agent", "claude", "--binary", script(d, "echo oh >&2; exit 3")).status)
			return nil
		}, "claude-code: a hook fails: exit status 3: oh\n → run it in a terminal: HOME/bin/hookback hook claude-code"},
		"program that allows": {"problem", func(t *testing.T, d *testMachine) []string {
			path := script(d, program+` "$@" >/dev/null; echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'`)
			require.Equal(t, 0, d.run("install", "--agent", "claude", "--binary", path).status)
			return nil
		}, "claude-code: the gate does not block calls: the hook printed "},
		"program that adds a member": {"problem", func(t *testing.T, d *testMachine) []string {
			path := script(d, program+` "$@" | sed 's/"behavior"/"extra":1,"behavior"/'`)
			require.Equal(t, 0, d.run("install", "--agent", "claude", "--binary", path).status)
			return nil
		}, "claude-code: the gate does not block calls: the hook printed "},
		"disabled hooks": {"problem", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, "{", `{"disableAllHooks": true,`)
			return nil
		}, "claude-code: its hooks are disabled: disableAllHooks is set in HOME/" + settings},
		"broken settings": {"problem", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, "{", "{{")
			return nil
		}, "claude-code: not loaded: ~/" + settings + ", line 1, column 2: invalid character '{' at start of object name (seen in " + claudeVersion + "); Claude Code runs no hook of the file → correct line 1"},
		"unreadable policy": {"problem", func(t *testing.T, d *testMachine) []string {
			require.NoError(t, os.WriteFile(filepath.Join(d.project(), "hookback.json"), []byte("{"), 0o600))
			return nil
		}, ": the policy can't be read: "},
		"shorter timeout": {"problem", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, `"timeout": 3600`, `"timeout": 30`)
			return nil
		}, "claude-code: ~/" + settings + ": PreToolUse: Claude Code ends the hook after 30s, and it may wait 1h0m0s for an answer; the call then goes on without an answer → hookback install --agent claude-code --scope user --mode gate --force"},
		"no timeout": {"problem", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, `"timeout": 3600`, `"once": false`)
			return nil
		}, "claude-code: ~/" + settings + ": PreToolUse: without a number as its timeout, Claude Code ends the hook after a time of its own, and it may wait 1h0m0s for an answer"},
		"changed by hand": {"look", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, `"timeout": 3600`, `"timeout": 3700`)
			return nil
		}, "claude-code: ~/" + settings + ": changed by hand: PreToolUse → hookback install --agent claude-code --scope user --mode gate --force"},
		"missing event": {"look", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, `"Notification"`, `"Notifications"`)
			return nil
		}, "claude-code: ~/" + settings + ": not installed for Notification → hookback install"},
		"installed twice": {"look", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("install", "--agent", "claude", "--scope", "project").status)
			return nil
		}, "claude-code: its hooks are installed twice (~/" + settings + ", ~/project/" + settings + ") and run twice → hookback uninstall --scope project"},
		"different hub": {"look", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("install", "--agent", "claude", "--hub", "http://10.0.0.7:4000").status)
			return nil
		}, "claude-code: its hooks use a different hub, http://10.0.0.7:4000 → hookback doctor --hub http://10.0.0.7:4000"},
		"additional http hooks": {"look", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, `"Stop": [`, `"Stop": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code"}]},`)
			return nil
		}, "claude-code: ~/" + settings + ": 1 http hook to http://127.0.0.1:4000/hooks/claude-code in addition to the installed hooks: each event is sent twice"},
		"http hooks only, not allowed": {"problem", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("uninstall").status)
			require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".claude"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(d.home, settings), []byte(`{"allowedHttpHookUrls": ["https://*"], "hooks": {"Stop": [
				{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code"}]}]}}`), 0o600))
			return nil
		}, "claude-code: ~/" + settings + ": 1 http hook to http://127.0.0.1:4000/hooks/claude-code will not run: allowedHttpHookUrls in HOME/"},
		"http hooks only": {"ok", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("uninstall").status)
			require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".claude"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(d.home, settings), []byte(`{"allowedHttpHookUrls": ["http://127.*"], "hooks": {"Stop": [
				{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code"}]}]}}`), 0o600))
			return nil
		}, "claude-code: ~/" + settings + ": 1 http hook to http://127.0.0.1:4000/hooks/claude-code → "},
		"settings with a comment": {"problem", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, `"hooks": {`, `// mine
  "hooks": {`)
			return nil
		}, "claude-code: not loaded: ~/" + settings + ", line 2: a comment (seen in " + claudeVersion + "); Claude Code runs no hook of the file → remove each comment, the first is in line 2"},
		"settings that Claude Code drops": {"problem", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, `"hooks": {`, `"cleanupPeriodDays": "30",
  "hooks": {`)
			return nil
		}, "claude-code: not loaded: ~/" + settings + `, line 2: "cleanupPeriodDays" must be a whole number above 0 (seen in ` + claudeVersion + `); Claude Code runs no hook of the file → correct "cleanupPeriodDays" in line 2`},
		"http hooks that Claude Code drops": {"problem", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("uninstall").status)
			require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".claude"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(d.home, settings), []byte(`{"model": 5, "hooks": {"Stop": [
				{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code"}]}]}}`), 0o600))
			return nil
		}, "claude-code: not loaded: ~/" + settings + `, line 1: "model" must be text`},
		"http hooks without the header": {"look", func(t *testing.T, d *testMachine) []string {
			require.Equal(t, 0, d.run("uninstall").status)
			require.NoError(t, os.MkdirAll(filepath.Join(d.home, ".claude"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(d.home, settings), []byte(`{"hooks": {"PermissionRequest": [
				{"hooks": [{"type": "http", "url": "http://127.0.0.1:4000/hooks/claude-code"}]}]}}`), 0o600))
			return nil
		}, "claude-code: ~/" + settings + ": 1 http hook to http://127.0.0.1:4000/hooks/claude-code without the header X-Claude-Entrypoint"},
		"no event": {"look", func(t *testing.T, d *testMachine) []string {
			return nil
		}, "claude-code: not proven: no event came since it was installed"},
		"all hooks removed": {"problem", func(t *testing.T, d *testMachine) []string {
			require.NoError(t, os.WriteFile(filepath.Join(d.home, settings), []byte("{}"), 0o600))
			return nil
		}, "claude-code: off: ~/" + settings + ": the hooks that were installed are not there anymore → hookback install --agent claude-code"},
		"no hook for tool calls": {"problem", func(t *testing.T, d *testMachine) []string {
			edit(t, d, settings, `"PreToolUse"`, `"PreToolUses"`)
			return nil
		}, "claude-code: off: ~/" + settings + ": no hook for PreToolUse → hookback install --agent claude-code --force"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := hub
			if name == "no event" {
				hub = hubtest.Start(t)
			}
			d := newTestMachine(t)
			d.env["HOOKBACK_URL"] = hub.URL()
			require.Equal(t, 0, d.run("install", "--agent", "claude").status)
			v := d.doctor(test.setup(t, d)...)
			require.Contains(t, strings.ReplaceAll(v.lines(test.state), d.home, "HOME"), test.want)
			require.Equal(t, test.state != "problem", v.Healthy, v.lines("problem"))
			if strings.Contains(test.want, "not loaded") || strings.Contains(test.want, "disabled") {
				require.NotContains(t, v.lines("ok"), "the gate works")
				require.NotContains(t, v.lines("ok"), "proven")
			}
		})
	}
}

// The report compares the agent's version with the proven one, which is newer, older or the same.
func TestDoctor_ComparesWithProvenVersion(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	proven := install.ProvenVersion("claude-code")
	require.NotEmpty(t, proven)
	for name, test := range map[string]struct{ agent, program, version, state, want string }{
		"newer":   {"claude", "claude", "99.1.0", "look", "claude-code: proven on " + proven + ", you run 99.1.0 → update hookback"},
		"older":   {"claude", "claude", "2.1.295", "look", "claude-code: proven on " + proven + ", you run 2.1.295 → update the agent"},
		"same":    {"claude", "claude", proven, "ok", "claude-code: proven on " + proven + ", which you run → "},
		"unknown": {"claude", "claude", "none", "ok", "claude-code: proven on " + proven + "; your version is unknown → "},
		"no test": {"crush", "crush", "1.0.0", "look", "crush: from its documentation, not proven: no test runs this agent → deny one of its calls in the dashboard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestMachine(t)
			bin := t.TempDir()
			script := "#!/bin/sh\necho '" + test.version + " (Claude Code)'\n"
			require.NoError(t, os.WriteFile(filepath.Join(bin, test.program), []byte(script), 0o700)) //nolint:gosec // a script
			d.env["PATH"], d.env["HOOKBACK_URL"] = bin+":"+d.env["PATH"], hub.URL()
			require.Equal(t, 0, d.run("install", "--agent", test.agent).status)
			require.Contains(t, d.doctor().lines(test.state), test.want)
		})
	}
}

func TestDoctor_PrintsReport(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	d := newTestMachine(t)
	d.env["HOOKBACK_URL"] = hub.URL()
	require.Equal(t, 0, d.run("install", "--agent", "codex").status)
	got := d.run("doctor", "--agent", "codex")
	require.Equal(t, 0, got.status)
	require.Regexp(t, `^Hookback
  ✓ the hub at \S+ answers \(ok, version .*\) through TCP
  ✓ the hub's key is [0-9a-f]{16}, trusted in ~/\.config/hookback/known_hubs
  ✓ a test event arrived in \d+ ms
Codex CLI
  ✓ ~/.codex/hooks.json: 12 hooks \(gate\)
  ✓ proven on \S+; your version is unknown
  ! not proven: no event came since it was installed
    → open /hooks in Codex and trust Hookback's hooks; untrusted hooks are skipped silently
  ✓ the gate works: a made-up call was denied in \d+ ms
  [✓!] a hook takes \d+ ms \(median of 5 runs, slowest \d+ ms\)
`, got.out)
	require.Contains(t, got.out, "no policy: Hookback receives only the agents' own permission prompts")
	require.Zero(t, countPending(t, hub.URL()))

	for want, args := range map[string][]string{
		"doctor takes flags only": {"x"}, `unknown agent "x"`: {"--agent", "x"}, "-nope": {"--nope"},
	} {
		got := d.run(append([]string{"doctor"}, args...)...)
		require.Equal(t, 2, got.status)
		require.Contains(t, got.err, want)
	}
}

// A fake hub without the API of the doctor is reported.
func TestDoctor_RejectsIncompleteHub(t *testing.T) {
	t.Parallel()
	var fake fakehub.Hub
	require.NoError(t, fake.Start())
	t.Cleanup(fake.Stop)
	d := newTestMachine(t)
	v := d.doctor("--hub", fake.URL())
	require.False(t, v.Healthy)
	require.Contains(t, v.lines("problem"), "no hub answers at "+fake.URL())
}

// On a locked hub, doctor needs no credentials. No hub lists it as an agent.
func TestDoctor_LeavesNoAgent(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	owner := hub.Owner("Ada") // locks the hub
	d := newTestMachine(t)
	d.env["HOOKBACK_URL"] = hub.URL()
	require.Equal(t, 0, d.run("install", "--agent", "claude").status)
	v := d.doctor()
	require.True(t, v.Healthy, v.lines("problem"))
	require.Contains(t, v.lines("ok"), "the gate works: a made-up call was denied in ")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, hub.URL()+schema.PathEvents, http.NoBody)
	require.NoError(t, err)
	req.Header = owner
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var all []schema.Event
	require.NoError(t, json.NewDecoder(res.Body).Decode(&all))
	require.NotEmpty(t, all) // the event of a hook that a slow machine delays comes without its ticket, and is refused
	for i := range all {
		require.Equal(t, schema.TestApp, all[i].SourceApp)
		if st := all[i].HumanInTheLoopStatus; st != nil {
			require.Equal(t, schema.Deny, st.Outcome)
		}
	}
}
