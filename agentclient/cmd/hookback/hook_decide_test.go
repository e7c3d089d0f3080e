package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// allCapabilities has every capability of an agent.
const allCapabilities = hook.CanAllow | hook.CanDeny | hook.CanAsk | hook.CanEdit | hook.CanAnswer | hook.CanRemember

func newCall(p hook.Point, can hook.Capability) *hook.Call {
	return &hook.Call{
		Point: p, Capabilities: can, Fallback: hook.Pass,
		Tool: &schema.ToolCall{Name: "Bash"}, Ask: &schema.HumanInTheLoop{Question: "Go?", Type: schema.Permission},
	}
}

// newHookRunIn returns a run in a new project with the policy, or without one if it is "".
func newHookRunIn(t *testing.T, policy string) *hookRun {
	t.Helper()
	h := newHookRun(noEnv, streams{})
	h.workDir = t.TempDir()
	if policy != "" {
		require.NoError(t, os.WriteFile(filepath.Join(h.workDir, agentclient.PolicyFileName), []byte(policy), 0o600))
	}
	return h
}

func TestDecide_WithoutPolicy(t *testing.T) {
	t.Parallel()
	h := newHookRunIn(t, "")
	for _, test := range []struct {
		point hook.Point
		asks  bool
	}{{hook.Observe, false}, {hook.Gate, false}, {hook.DeferToPrompt, false}, {hook.Prompt, true}} {
		p := h.decide(newCall(test.point, allCapabilities), false)
		require.Equal(t, test.asks, p.ask, test.point)
		require.Equal(t, hook.Verdict{}, p.verdict, "the agent's own flow")
		p = h.decide(newCall(test.point, allCapabilities), true)
		require.False(t, p.ask, "no one can read the part that was cut")
		require.Equal(t, hook.Pass, p.verdict.Effect, "no rule can match")
		h.observe = true
		require.Equal(t, hookDecision{}, h.decide(newCall(test.point, allCapabilities), false))
		h.observe = false
	}
	withoutQuestion := newCall(hook.Prompt, allCapabilities)
	withoutQuestion.Ask = nil
	require.False(t, h.decide(withoutQuestion, false).ask)
	question := newCall(hook.Prompt, allCapabilities)
	question.Tool = nil
	require.True(t, h.decide(question, false).ask, "a question without a tool call")
}

// An unreadable policy never allows a call.
func TestDecide_UnreadablePolicyAsks(t *testing.T) {
	t.Parallel()
	h := newHookRunIn(t, `{"rules": [`)
	for _, test := range []struct {
		point  hook.Point
		asks   bool
		effect hook.Effect
	}{{hook.Observe, false, hook.Pass}, {hook.Gate, true, hook.Pass}, {hook.DeferToPrompt, false, hook.Ask}, {hook.Prompt, true, hook.Pass}} {
		c := newCall(test.point, allCapabilities)
		p := h.decide(c, false)
		require.Equal(t, test.asks, p.ask, test.point)
		require.Equal(t, test.effect, p.verdict.Effect, test.point)
		if test.effect == hook.Ask {
			require.Contains(t, p.verdict.Reason, "Approval required by the Hookback policy: the policy can't be read: ")
			require.Contains(t, p.verdict.Reason, agentclient.PolicyFileName)
		}
		if test.asks {
			require.Contains(t, h.buildRequest(c, p).Event.HumanInTheLoop.Context.Why, "the policy can't be read: ")
			require.Nil(t, c.Ask.Context, "the call is unchanged")
		}
	}
}

// A call that is too large to check gets no further than a call that matches a rule.
func TestDecide_TruncatedCallAsks(t *testing.T) {
	t.Parallel()
	h := newHookRunIn(t, `{"rules": [{"tool": "Bash", "then": "deny", "when": {"command": {"contains": "rm"}}}]}`)
	for _, point := range []hook.Point{hook.Gate, hook.DeferToPrompt, hook.Prompt} {
		p := h.decide(newCall(point, allCapabilities), true)
		require.False(t, p.ask, "no one can read the part that was cut")
		require.Equal(t, hook.Ask, p.verdict.Effect, point)
	}
}

// The event of a call that the policy stopped has the reason.
func TestHook_ReportsPolicyReason(t *testing.T) {
	t.Parallel()
	hub := startHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PreToolUse-Bash"))
	require.NoError(t, os.WriteFile(filepath.Join(c.home, agentclient.PolicyFileName), []byte("{"), 0o600))
	got := c.run(t)
	require.Contains(t, got.out, `"permissionDecision":"ask"`)
	c.deliverSpooled()
	require.Contains(t, hub.Events()[0].Reason, "Approval required by the Hookback policy: the policy can't be read: ")
}

func TestPolicyReason(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Denied by the Hookback policy", policyReason("Denied", agentclient.PolicyResult{}))
	require.Equal(t, "Denied by the Hookback policy (hookback.json:3): never", policyReason("Denied", agentclient.PolicyResult{Location: "hookback.json:3", Reason: "never"}))
}

func TestFallbackVerdict(t *testing.T) {
	t.Parallel()
	ask := hookDecision{ask: true, policy: agentclient.PolicyResult{Effect: agentclient.EffectAsk}}
	for name, test := range map[string]struct {
		option   string
		point    hook.Point
		can      hook.Capability
		fallback hook.Effect
		plan     hookDecision
		why      noDecisionReason
		want     hook.Effect
	}{
		"agent's fallback":         {"", hook.Prompt, allCapabilities, hook.Pass, hookDecision{ask: true}, noHub, hook.Pass},
		"agent's fallback, ask":    {"", hook.Gate, allCapabilities, hook.Ask, ask, noHub, hook.Ask},
		"policy asks":              {"", hook.Gate, hook.CanDeny, hook.Pass, ask, noHub, hook.Ask},
		"policy asks, at a prompt": {"", hook.Prompt, allCapabilities, hook.Pass, ask, noHub, hook.Pass},
		"canceled":                 {"", hook.Gate, allCapabilities, hook.Pass, ask, canceled, hook.Ask},
		"allow, no hub":            {thenAllow, hook.Gate, allCapabilities, hook.Ask, ask, noHub, hook.Allow},
		"allow, no dashboard":      {thenAllow, hook.Prompt, allCapabilities, hook.Pass, hookDecision{}, noDashboard, hook.Allow},
		"allow, no answer":         {thenAllow, hook.Prompt, allCapabilities, hook.Pass, hookDecision{}, noAnswer, hook.Pass},
		"allow, malformed answer":  {thenAllow, hook.Gate, allCapabilities, hook.Ask, ask, malformedAnswer, hook.Ask},
		"allow, rejected":          {thenAllow, hook.Gate, allCapabilities, hook.Ask, ask, rejected, hook.Ask},
		"deny":                     {thenDeny, hook.Prompt, allCapabilities, hook.Pass, hookDecision{}, noAnswer, hook.Deny},
		"ask":                      {thenAsk, hook.Prompt, allCapabilities, hook.Pass, hookDecision{}, noAnswer, hook.Ask},
		"ask without capability":   {thenAsk, hook.Gate, hook.CanDeny, hook.Pass, ask, noHub, hook.Ask},
		"ask at a prompt":          {thenAsk, hook.Prompt, hook.CanDeny, hook.Pass, ask, noHub, hook.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hookRun{onUnreachable: test.option}
			c := newCall(test.point, test.can)
			c.Fallback = test.fallback
			v := h.fallbackVerdict(c, test.plan, test.why, "The cause.")
			require.Equal(t, test.want, v.Effect)
			require.True(t, strings.HasPrefix(v.Reason, "The cause."))
		})
	}
}

func TestVerdictFor_Decisions(t *testing.T) {
	t.Parallel()
	args := raw(`{"command":"ls"}`)
	permission := func(d agentclient.Decision) agentclient.Decision {
		d.Kind = schema.Permission
		return d
	}
	for name, test := range map[string]struct {
		d    agentclient.Decision
		want hook.Verdict
	}{
		"approved": {
			permission(agentclient.Decision{Outcome: schema.Approve, Arguments: args, Comment: "fine", Remember: raw(`1`)}),
			hook.Verdict{Effect: hook.Allow, Reason: "fine", Remember: raw(`1`)},
		},
		"edited": {
			permission(agentclient.Decision{Outcome: schema.Approve, Arguments: args, Edited: true}),
			hook.Verdict{Effect: hook.Allow, Arguments: args},
		},
		"denied":                     {permission(agentclient.Decision{Outcome: schema.Deny, Reason: "no", Guidance: "Stop."}), hook.Verdict{Effect: hook.Deny, Reason: "no\nStop."}},
		"denied, reason in guidance": {permission(agentclient.Decision{Outcome: schema.Deny, Reason: "no", Guidance: "Stop: no"}), hook.Verdict{Effect: hook.Deny, Reason: "Stop: no"}},
		"denied without reason":      {permission(agentclient.Decision{Outcome: schema.Deny, Guidance: "Stop."}), hook.Verdict{Effect: hook.Deny, Reason: "Stop."}},
		"denied, version 1":          {permission(agentclient.Decision{Outcome: schema.Deny, Comment: "no"}), hook.Verdict{Effect: hook.Deny, Reason: "no"}},
		"answers": {
			agentclient.Decision{Kind: schema.FreeText, Outcome: schema.Answered, Answers: map[string][]string{"a": {"1"}}},
			hook.Verdict{Effect: hook.Allow, Answers: map[string][]string{"a": {"1"}}},
		},
		"choice": {
			agentclient.Decision{Kind: schema.Choice, Outcome: "approve", Choice: "approve"},
			hook.Verdict{Effect: hook.Allow, Answers: map[string][]string{"": {"approve"}}},
		},
		"text":          {agentclient.Decision{Kind: schema.FreeText, Outcome: schema.Answered, Text: "t"}, hook.Verdict{Effect: hook.Allow, Answers: map[string][]string{"": {"t"}}}},
		"at agent":      {permission(agentclient.Decision{Outcome: schema.Cancelled, Source: schema.ByAgent}), hook.Verdict{}},
		"session ended": {permission(agentclient.Decision{Outcome: schema.Cancelled, Source: schema.BySessionEnd}), hook.Verdict{}},
		"agent gone":    {permission(agentclient.Decision{Outcome: schema.Cancelled, Source: schema.ByOrphaned}), hook.Verdict{}},
		"canceled":      {permission(agentclient.Decision{Outcome: schema.Cancelled, Source: schema.ByCancel, Reason: "why"}), hook.Verdict{Effect: hook.Ask, Reason: "The question was canceled without an answer. Nothing was approved. why"}},
		"timeout":       {permission(agentclient.Decision{Outcome: schema.Timeout}), hook.Verdict{Effect: hook.Ask, Reason: "No one answered in time. Nothing was approved."}},
		"empty":         {agentclient.Decision{}, hook.Verdict{Effect: hook.Ask, Reason: "The question was canceled without an answer. Nothing was approved."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCall(hook.Gate, allCapabilities)
			c.Fallback = hook.Ask
			require.Equal(t, test.want, (&hookRun{}).verdictFor(c, hookDecision{}, test.d))
		})
	}
}

func TestHookRun_Deadline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit, own time.Duration
		asked      float64
		want       time.Duration
	}{
		{0, time.Minute, 0, 55 * time.Second},
		{time.Hour, time.Minute, 0, time.Hour - 5*time.Second},
		{time.Hour, time.Minute, 30, 30 * time.Second},
		{0, 0, 0, 55 * time.Second},
		{6 * time.Second, 0, 0, 3 * time.Second}, // half of a limit that is too short for the margin
		{-time.Second, 10 * time.Second, 0, 5 * time.Second},
	} {
		h := &hookRun{limit: test.limit, started: time.Now()}
		c := newCall(hook.Prompt, allCapabilities)
		c.Limit, c.Ask.Timeout = test.own, &test.asked
		require.Equal(t, test.want, h.deadline(c).Sub(h.started))
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	e := schema.Event{Agent: "codex", SessionID: "s", HookEventType: "PreToolUse", ToolUseID: "t\n1"}
	require.Equal(t, "hook/codex/s/PreToolUse/t\n1", idempotencyKey(&e))
	e.SessionID = strings.Repeat("s", schema.MaxName)
	long := idempotencyKey(&e)
	require.Len(t, long, 69)
	require.Equal(t, long, idempotencyKey(&e))
	e.ToolUseID = ""
	first := idempotencyKey(&e)
	require.NotEqual(t, first, idempotencyKey(&e), "two equal calls are two questions")
}

func TestHook_ExplainSendsNothing(t *testing.T) {
	t.Parallel()
	hub := startHub(t, nil)
	c := newHookCommand(t, hub.URL(), readSample(t, "claude-code-PermissionRequest-Bash"), "--explain", "--limit", "65s")
	got := c.run(t)
	require.Equal(t, cliResult{0, got.out, ""}, got)
	for _, want := range []string{
		"Claude Code · PermissionRequest of session ",
		"The agent asks its user for permission, so a person is asked through the hub.",
		`"hook_event_type": "PermissionRequest"`, `"humanInTheLoop": {`,
		"It would wait for at most 1m0s after its start.",
		"approved                       exit 0, stdout " + allowed + "\n",
		"no hub                         exit 0, stdout nothing\n",
	} {
		require.Contains(t, got.out, want)
	}
	require.Empty(t, hub.Events(), "nothing is sent")
	for sample, want := range map[string]string{
		stopEvent: "Nothing is decided at this event: it is only reported to the hub.",
		readSample(t, "claude-code-PreToolUse-Bash"): "The policy has no opinion: the agent behaves as without a hook.",
	} {
		c = newHookCommand(t, hub.URL(), sample, "--explain")
		require.Contains(t, c.run(t).out, want)
	}
	c = newHookCommand(t, hub.URL(), stopEvent, "--explain", "--observe")
	require.Contains(t, c.run(t).out, "Observe only (--observe)")
	for input, want := range map[string]string{"garbage": "The hook would print nothing, exit 0 and log this to hook.log", "": "The hook would print nothing"} {
		c = newHookCommand(t, hub.URL(), input, "--explain")
		got := c.run(t)
		require.Equal(t, cliResult{0, got.out, ""}, got)
		require.Contains(t, got.out, want)
	}
	c = newHookCommand(t, hub.URL(), `{"session_id":"s","hook_event_name":"Stop","last_assistant_message":"a < b && c > \\u003c"}`, "--explain")
	require.Contains(t, c.run(t).out, `"last_assistant_message": "a < b && c > \\u003c"`)
	c = newHookCommand(t, hub.URL(), "", "--help")
	require.Contains(t, c.run(t).out, "--on-unreachable answer")
}

func TestHookLog_RotatesAtLimit(t *testing.T) {
	t.Parallel()
	hookLog{}.printf("nowhere")
	j := hookLog{filepath.Join(t.TempDir(), "deep", "hook.log")}
	j.printf("two\nlines of %q", "\x1b[31m\xff")
	text, err := os.ReadFile(j.file)
	require.NoError(t, err)
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z two\n\tlines of "\\x1b\[31m\\xff"\n$`, string(text))
	info, err := os.Stat(j.file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for range 40 {
		j.printf("%s", strings.Repeat("x", maxHookLog))
	}
	files, err := os.ReadDir(filepath.Dir(j.file))
	require.NoError(t, err)
	require.Len(t, files, 2, "the log and the rotated one")
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(maxHookLog+maxHookLog/8))
	}
}

func TestStateDir(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]map[string]string{
		"/state/hookback": {"XDG_STATE_HOME": "/state", "HOME": "/home/a"},
		"":                {"XDG_STATE_HOME": "relative"},
	} {
		require.Equal(t, want, stateDir(func(name string) string { return env[name] }))
	}
	require.NotEmpty(t, stateDir(func(name string) string { return map[string]string{"HOME": "/h", "LocalAppData": `C:\l`}[name] }))
}
