package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/hubtest"
)

const userPolicy = `{"rules": [{"tool": "Bash", "then": "ask"}]}`

// sessionStart returns Claude Code's SessionStart input.
func sessionStart(session string) string {
	return `{"session_id":"` + session + `","hook_event_name":"SessionStart","source":"startup"}`
}

// policyReports runs the hook for each input in order and returns the reports that the hub has then.
func policyReports(t *testing.T, c *hookCommand, inputs ...string) (reports []control.PolicyReport) {
	t.Helper()
	for _, input := range inputs {
		c.stdin = strings.NewReader(input)
		require.Equal(t, noOutput, c.run(t))
		c.deliverSpooled()
	}
	var events []schema.Event
	require.NoError(t, getJSON(t, c.hub+schema.PathEvents+"?hook_event_type="+control.PolicyEvent, &events))
	for _, e := range events {
		require.Equal(t, "claude-code", e.Agent)
		require.Empty(t, e.ToolUseID)
		var report control.PolicyReport
		require.NoError(t, json.Unmarshal(e.Payload, &report))
		reports = append(reports, report)
	}
	return reports
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestHookPolicyReport_OncePerSessionAndVersion(t *testing.T) {
	t.Parallel()
	c := newHookCommand(t, hubtest.Start(t).URL(), "")
	writePolicy(t, filepath.Join(c.home, ".config", "hookback"), userPolicy)
	writePolicy(t, c.home, projectPolicy)
	reports := policyReports(t, c, sessionStart("s1"), `{"session_id":"s1","hook_event_name":"SessionEnd"}`, sessionStart("s1"), sessionStart("s2"))
	require.Len(t, reports, 2, "one per session")
	require.NotEmpty(t, reports[0].Host)
	require.Equal(t, c.home, reports[0].Cwd)
	require.Equal(t, []control.PolicyFile{
		{Origin: "user", Path: filepath.Join(c.home, ".config", "hookback", policy.FileName), SHA256: sha256Hex(userPolicy), Text: userPolicy},
		{Origin: "project", Path: filepath.Join(c.home, policy.FileName), SHA256: sha256Hex(projectPolicy), Text: projectPolicy},
	}, reports[0].Files)
	require.Equal(t, reports[0], reports[1])

	writePolicy(t, c.home, userPolicy)
	reports = policyReports(t, c, sessionStart("s1"))
	require.Len(t, reports, 3, "a resumed session reports a changed file")
	require.Equal(t, userPolicy, reports[2].Files[1].Text)
}

func TestHookPolicyReport_WithoutPolicyNothing(t *testing.T) {
	t.Parallel()
	c := newHookCommand(t, hubtest.Start(t).URL(), "")
	require.Empty(t, policyReports(t, c, sessionStart("s1")))
	writePolicy(t, c.home, projectPolicy)
	c.args = append(c.args, "--observe")
	require.Empty(t, policyReports(t, c, sessionStart("s2")), "the hook applies no policy")
}

func TestHookPolicyReport_UnreadableAndLargeFiles(t *testing.T) {
	t.Parallel()
	c := newHookCommand(t, hubtest.Start(t).URL(), "")
	user := filepath.Join(c.home, ".config", "hookback")
	require.NoError(t, os.MkdirAll(filepath.Join(user, policy.FileName), 0o700)) // a directory
	large := `{"rules": []` + strings.Repeat(" ", control.MaxPolicyReport) + `}`
	writePolicy(t, c.home, large)
	reports := policyReports(t, c, sessionStart("s1"))
	require.Len(t, reports, 1)
	require.Equal(t, []control.PolicyFile{
		{Origin: "user", Path: filepath.Join(user, policy.FileName), Problem: "the policy is not a regular file"},
		{Origin: "project", Path: filepath.Join(c.home, policy.FileName), SHA256: sha256Hex(large)},
	}, reports[0].Files)
	require.NoError(t, os.WriteFile(filepath.Join(c.home, policy.FileName), make([]byte, 2<<20), 0o600))
	reports = policyReports(t, c, sessionStart("s2"))
	require.Contains(t, reports[1].Files[1].Problem, "larger than 1 MiB")

	writePolicy(t, c.home, strings.Repeat("\x01", control.MaxPolicyReport)) // each is six characters in JSON
	reports = policyReports(t, c, sessionStart("s3"))
	require.NotEmpty(t, reports[2].Files[1].SHA256)
	require.Empty(t, reports[2].Files[1].Text)
}

// The project can be anywhere, also behind a link that leads nowhere.
func TestHookPolicyReport_ProjectOutsideHome(t *testing.T) {
	t.Parallel()
	c := newHookCommand(t, hubtest.Start(t).URL(), "")
	project := t.TempDir()
	writePolicy(t, project, userPolicy)
	require.NoError(t, os.Symlink(filepath.Join(project, "missing"), filepath.Join(c.home, policy.FileName)))
	c.env = []string{"CLAUDE_PROJECT_DIR=" + project}
	reports := policyReports(t, c, sessionStart("s1"))
	require.Len(t, reports, 1)
	require.Equal(t, project, reports[0].Cwd)
	require.Len(t, reports[0].Files, 2)
	require.Equal(t, control.PolicyFile{Origin: "project", Path: filepath.Join(project, policy.FileName), SHA256: sha256Hex(userPolicy), Text: userPolicy}, reports[0].Files[0])
	require.Equal(t, filepath.Join(c.home, policy.FileName), reports[0].Files[1].Path)
	require.Contains(t, reports[0].Files[1].Problem, "no such file")
}

// No hub is no reason to lose the report: a later hook sends it.
func TestHookPolicyReport_IsSpooled(t *testing.T) {
	t.Parallel()
	c := newHookCommand(t, clitest.ClosedHubURL(t), sessionStart("s1"))
	writePolicy(t, c.home, projectPolicy)
	require.Equal(t, noOutput, c.run(t))
	require.Equal(t, 2, c.spooledEvents())
}

// The hub lists what hooks report: the rules that decided, with their hits.
func TestHookPolicyReport_ReachesPolicyList(t *testing.T) {
	c := newHookCommand(t, hubtest.Start(t).URL(), "")
	writePolicy(t, filepath.Join(c.home, ".config", "hookback"), userPolicy)
	writePolicy(t, c.home, projectPolicy)
	policyReports(t, c, sessionStart("s1"))
	for _, command := range []string{"rm -r /x", "ls"} {
		c.stdin = strings.NewReader(preToolUse(command))
		require.Contains(t, c.run(t).out, "Approval required", "the user's rule comes first")
		c.deliverSpooled()
	}
	var list history.PolicyList
	require.NoError(t, getJSON(t, c.hub+history.PathPolicies, &list))
	require.True(t, list.Complete)
	require.Len(t, list.Policies, 2)
	user, project := list.Policies[0], list.Policies[1]
	require.Equal(t, []any{history.OriginUser, sha256Hex(userPolicy), userPolicy, c.home, int64(1)},
		[]any{user.Origin, user.Hash, user.Text, user.Cwd, user.Sessions})
	require.NotEmpty(t, user.Host)
	require.NotEmpty(t, user.Person)
	require.Equal(t, "Bash: ask", user.Rules[0].Sentence)
	require.EqualValues(t, 2, user.Rules[0].Hits, "two calls, although they have one id")
	require.Len(t, project.Rules, 3)
	require.Zero(t, project.Rules[1].Hits)
	require.Contains(t, project.Rules[2].Sentence, "left to the agent")

	// Its rules can be exported, and replayed before they are.
	d := newPolicyProject(t)
	got := d.policy(t.Context(), "add", "--project", project.Rules[0].JSON)
	require.Equal(t, cli.ExitOK, got.status, got.err)
	require.Contains(t, got.out, project.Rules[0].Sentence)
}

// Every event has the facts of its hook. Only those at the end of a turn have the settings and the policy.
func TestHook_SendsGateFacts(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	c := newHookCommand(t, hub.URL(), "")
	d := newTestMachine(t)
	c.home = d.home
	installed := d.run("install", "--agent", "claude-code", "--hub", hub.URL())
	require.Equal(t, cli.ExitOK, installed.status, installed.err)

	gateOf := func(input string) (facts control.GateFacts) {
		t.Helper()
		c.stdin = strings.NewReader(input)
		require.Equal(t, noOutput, c.run(t))
		c.deliverSpooled()
		var events []schema.Event
		require.NoError(t, getJSON(t, hub.URL()+schema.PathRecent+"?limit=1", &events))
		require.NotEmpty(t, events[0].OSUser)
		require.NoError(t, json.Unmarshal(events[0].Extra[control.GateMember], &facts))
		return facts
	}
	call := gateOf(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_use_id":"t1","tool_response":""}`)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, control.GateFacts{Client: cli.Version(), Host: host}, call)

	stop := gateOf(`{"session_id":"s","hook_event_name":"Stop"}`)
	require.Equal(t, "none", stop.Policy)
	require.Len(t, stop.Agents, 1)
	require.Equal(t, stop.Agents[0].Settings, stop.Settings)
	require.Empty(t, stop.Agents[0].State, stop.Agents[0].Detail)
	writePolicy(t, filepath.Join(c.home, ".config", "hookback"), userPolicy)
	require.NotEqual(t, stop.Policy, gateOf(`{"session_id":"s","hook_event_name":"Stop"}`).Policy)

	var list control.CoverageList
	require.NoError(t, getJSON(t, hub.URL()+control.PathCoverage, &list))
	require.Len(t, list.Agents, 1)
	require.Equal(t, control.CoverageProven, list.Agents[0].State)
	require.NoError(t, os.WriteFile(filepath.Join(c.home, ".claude", "settings.json"), []byte("{}"), 0o600))
	gateOf(`{"session_id":"s","hook_event_name":"Stop"}`)
	require.NoError(t, getJSON(t, hub.URL()+control.PathCoverage, &list))
	require.Equal(t, control.CoverageOff, list.Agents[0].State)
}
