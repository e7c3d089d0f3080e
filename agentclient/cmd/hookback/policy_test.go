package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

// policyProject is a user's home, a project, and possibly a hub.
type policyProject struct {
	home, project, hub string
}

// newPolicyProject creates a project and changes to a subdirectory of it.
func newPolicyProject(t *testing.T) *policyProject {
	t.Helper()
	dir := t.TempDir()
	d := &policyProject{home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	require.NoError(t, os.MkdirAll(filepath.Join(d.project, ".git"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(d.project, "sub"), 0o700))
	require.NoError(t, os.MkdirAll(d.home, 0o700))
	t.Chdir(filepath.Join(d.project, "sub"))
	return d
}

func (p *policyProject) policy(ctx context.Context, args ...string) cliResult {
	var out, stderr bytes.Buffer
	env := func(name string) string { return map[string]string{"HOME": p.home, "HOOKBACK_URL": p.hub}[name] }
	status := run(ctx, append([]string{"policy"}, args...), env, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &stderr})
	return cliResult{status, out.String(), stderr.String()}
}

func (p *policyProject) write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(p.project, "hookback.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestPolicyInit_NeverOverwrites(t *testing.T) {
	starter, err := os.ReadFile("../../internal/cli/policycmd/policystarter.json")
	require.NoError(t, err)
	d := newPolicyProject(t)
	for _, test := range []struct {
		args []string
		file string
	}{
		{[]string{"init"}, filepath.Join(d.home, ".config/hookback/hookback.json")},
		{[]string{"init", "--project"}, filepath.Join(d.project, "hookback.json")},
	} {
		got := d.policy(t.Context(), test.args...)
		require.Equal(t, cli.ExitOK, got.status, got.err)
		require.Contains(t, got.out, test.file)
		text, err := os.ReadFile(test.file)
		require.NoError(t, err)
		require.Equal(t, string(starter), string(text))

		require.NoError(t, os.WriteFile(test.file, []byte(`{"rules": []}`), 0o600))
		got = d.policy(t.Context(), test.args...)
		require.Equal(t, cli.ExitError, got.status)
		require.Contains(t, got.err, "already exists and was not changed")
		text, err = os.ReadFile(test.file)
		require.NoError(t, err)
		require.JSONEq(t, `{"rules": []}`, string(text), "the user's file was overwritten")
	}
}

func TestPolicyCheck_PrintsRulesOrProblems(t *testing.T) {
	d := newPolicyProject(t)
	got := d.policy(t.Context(), "check")
	require.Equal(t, cli.ExitOK, got.status)
	require.Contains(t, got.out, "No policy applies here")

	file := d.write(t, `{"rules": [
{"tool": "Bash", "when": {"command": {"contains": "rm\u001b[2J"}}, "then": "ask", "reason": "It deletes."},
{"tool": "Bsah", "then": "deny"}]}`)
	got = d.policy(t.Context(), "check")
	require.Equal(t, cli.ExitOK, got.status)
	require.Equal(t, file+"\n   1. Bash when command contains \"rm\\x1b[2J\": ask, because: It deletes.\n   2. Bsah: deny\n", got.out)
	require.Equal(t, "warning: "+file+":3:1: no agent we know has a tool \"Bsah\"; did you mean \"Bash\"?\n", got.err)

	d.write(t, `{"rules": [{"tool": "Bash", "then": "aks"}, {"tol": "x", "then": "ask"}]}`)
	for _, args := range [][]string{{"check"}, {"check", file}, {"test"}} {
		got = d.policy(t.Context(), args...)
		require.Equal(t, cli.ExitProblem, got.status)
		require.Contains(t, got.err, file+`:1:37: then can't be "aks"; did you mean "ask"?`)
		require.Contains(t, got.err, `a rule has no member "tol"; did you mean "tool"?`)
	}
	d.write(t, `{"rules": []}`)
	require.Contains(t, d.policy(t.Context(), "check").out, "no rules, so no opinion")
}

// The Policy studio exports rules as the hub reads them: with every member, and escapes for characters that
// no terminal shows.
func TestPolicyAdd_TakesExportedRule(t *testing.T) {
	d := newPolicyProject(t)
	const exported = `{"tool":"Ba\u200bsh","when":{"command":{"runs":"git push","option":["f","force"],"regex":"origin\\b"},"timeout":{"greater":5}},"then":"ask","risk":"high","reason":"It's published."}`
	file := d.write(t, `{"rules": []}`)
	got := d.policy(t.Context(), "add", "--project", exported)
	require.Equal(t, cli.ExitOK, got.status, got.err)
	got = d.policy(t.Context(), "check")
	require.Equal(t, file+"\n   1. Ba·sh when command matches /origin\\b/ and command runs \"git push\" with the option f or force and timeout is greater than 5: ask (high risk), because: It's published.\n", got.out)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), exported)
}

func TestPolicy_RejectsWrongUsage(t *testing.T) {
	d := newPolicyProject(t)
	for want, args := range map[string][]string{
		`policy takes init, add, check or test, not ""`:     {},
		`policy takes init, add, check or test, not "tset"`: {"tset"},
		"nowhere.json does not exist":                       {"check", "nowhere.json"},
		"nowhere.json":                                      {"test", "nowhere.json"},
		"policy takes one FILE":                             {"check", "a", "b"},
		"no rules to test":                                  {"test"},
		"policy init takes no arguments":                    {"init", "x"},
	} {
		got := d.policy(t.Context(), args...)
		require.NotEqual(t, cli.ExitOK, got.status, "%v", args)
		require.Contains(t, got.err, want, "%v", args)
	}
	for _, args := range [][]string{{"--help"}, {"check", "--help"}, {"init", "--help"}} {
		got := d.policy(t.Context(), args...)
		require.Equal(t, cli.ExitOK, got.status)
		require.Contains(t, got.out, "The first rule that matches decides")
	}
	require.Contains(t, d.policy(t.Context(), "test", "--help").out, "the last 30 days")
	d.hub = "http://127.0.0.1:1"
	d.write(t, `{"rules": [{"tool": "Bash", "then": "ask"}]}`)
	require.Contains(t, d.policy(t.Context(), "test").err, "no hub can be reached")
}

// startHubWithCalls starts a hub that has stored the calls, and some other events.
func startHubWithCalls(t *testing.T, d *policyProject, calls ...string) {
	t.Helper()
	hub := hubtest.Start(t)
	d.hub = hub.URL()
	client := agentclient.New(agentclient.Options{Hubs: []string{d.hub}})
	defer client.Close()
	for i, call := range calls {
		e := schema.Event{HookEventType: "PreToolUse", Agent: "claude-code", Payload: json.RawMessage(call)}
		if i%7 == 0 { // an event without a call
			_, err := client.Send(t.Context(), schema.Event{HookEventType: "Stop", Payload: json.RawMessage(`{}`)})
			require.NoError(t, err)
		}
		_, err := client.Send(t.Context(), e)
		require.NoError(t, err)
	}
}

// recordedInput returns the hook input of a Claude Code tool call.
func recordedInput(tool, input string) string {
	return fmt.Sprintf(`{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": %q, "tool_input": %s}`, tool, input)
}

func TestPolicyTest_CountsEffects(t *testing.T) {
	d := newPolicyProject(t)
	calls := []string{
		recordedInput("Bash", `{"command": "rm -rf build"}`), recordedInput("Bash", `{"command": "rm -rf \u001b[2J\n`+strings.Repeat("x", 300)+`"}`),
		recordedInput("Bash", `{"command": "git status"}`), recordedInput("Bash", `{"command": "git status; rm x"}`), recordedInput("Write", `{"file_path": "/etc/passwd"}`),
		recordedInput("refund", `{"amount": "many"}`), `{"nothing": "of use"}`,
	}
	for i := range 250 { // more than one page
		calls = append(calls, recordedInput("Read", fmt.Sprintf(`{"file_path": "/p/%d"}`, i)))
	}
	startHubWithCalls(t, d, calls...)
	file := d.write(t, `{"rules": [
{"tool": "Bash", "when": {"command": {"contains": "rm -rf"}}, "then": "ask"},
{"tool": "Write", "when": {"file": {"glob": "/etc/*"}}, "then": "deny"},
{"tool": "refund", "when": {"amount": {"greater": 5}}, "then": "deny"},
{"tool": "Bash", "when": {"command": {"glob": "git *"}}, "then": "allow"},
{"tool": "WebFetch", "then": "ask"}]}`)
	got := d.policy(t.Context(), "test")
	require.Equal(t, cli.ExitOK, got.status, got.err)
	require.Contains(t, got.out, file+"\nCalls of the last 30 days: 256. The policy asks about 3, denies 1 and allows 0; no opinion on 252.\n\n   1. Bash when command contains \"rm -rf\": ask\n")
	require.Contains(t, got.out, "      ask #2 Bash: Run rm -rf build\n")
	require.Contains(t, got.out, "      ask #7 refund: Call refund amount many\n", "the rule could not be evaluated")
	require.NotContains(t, got.out, "\x1b")
	require.NotContains(t, got.out, "git *", "only your own policy can allow")

	var results []struct {
		File string
		history.Replay
	}
	got = d.policy(t.Context(), "test", file, "--json")
	require.Equal(t, cli.ExitOK, got.status, got.err)
	require.NoError(t, json.Unmarshal([]byte(got.out), &results))
	require.Len(t, results, 1)
	result := results[0]
	require.Equal(t, file, result.File)
	require.Equal(t, []int64{256, 3, 1, 1, 251}, []int64{result.Looked, result.Asked, result.Denied, result.Allowed, result.Unmatched})
	require.True(t, result.Complete)
	require.Equal(t, "Edit /etc/passwd", result.Examples[1].Title)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got = d.policy(ctx, "test", "--json")
	require.Equal(t, cli.ExitError, got.status)
	require.Contains(t, got.err, "context canceled")
	require.Empty(t, got.out)
}

func TestPolicyTest_LimitsExamples(t *testing.T) {
	d := newPolicyProject(t)
	var calls []string
	for i := range 10 {
		calls = append(calls, recordedInput("Bash", fmt.Sprintf(`{"command": "make %d"}`, i)))
	}
	startHubWithCalls(t, d, calls...)
	d.write(t, `{"rules": [{"tool": "Bash", "then": "ask"}]}`)
	got := d.policy(t.Context(), "test")
	require.Equal(t, 3, strings.Count(got.out, "Bash: Run make"), got.out)
	require.Contains(t, got.out, "make 9\n", "the newest calls are the examples")
}

// Each file is compared by itself, with the authority that it has here.
func TestPolicyTest_ComparesEachFile(t *testing.T) {
	d := newPolicyProject(t)
	startHubWithCalls(t, d, recordedInput("Bash", `{"command": "git status"}`))
	project := d.write(t, `{"rules": [{"tool": "Bash", "when": {"command": {"glob": "git status"}}, "then": "allow"}]}`)
	own := filepath.Join(d.home, ".config/hookback/hookback.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(own), 0o700))
	require.NoError(t, os.WriteFile(own, []byte(`{"rules": [{"tool": "Bash", "then": "deny"}]}`), 0o600))
	got := d.policy(t.Context(), "test")
	require.Equal(t, cli.ExitOK, got.status, got.err)
	require.Equal(t, own+"\nCalls of the last 30 days: 1. The policy asks about 0, denies 1 and allows 0; no opinion on 0.\n\n   1. Bash: deny\n      deny #2 Bash: Run git status\n"+
		"\n"+project+"\nCalls of the last 30 days: 1. The policy asks about 0, denies 0 and allows 0; no opinion on 1.\n", got.out)
}

func TestPolicyTest_NamesFileThatHubRefuses(t *testing.T) {
	d := newPolicyProject(t)
	startHubWithCalls(t, d)
	file := d.write(t, `{"rules": [{"tool": "Bash", "then": "ask", "reason": "`+strings.Repeat("x", history.MaxPolicyText)+`"}]}`)
	got := d.policy(t.Context(), "test")
	require.Equal(t, cli.ExitError, got.status)
	require.Contains(t, got.err, file+": ")
	require.Contains(t, got.err, "policy is larger than 32768 bytes")
}
