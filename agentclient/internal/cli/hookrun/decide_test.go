package hookrun

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
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
func newHookRunIn(t *testing.T, rules string) *hookRun {
	t.Helper()
	h := newHookRun(clitest.NoEnv, cli.Streams{})
	h.workDir = t.TempDir()
	if rules != "" {
		require.NoError(t, os.WriteFile(filepath.Join(h.workDir, policy.FileName), []byte(rules), 0o600))
	}
	return h
}

func TestBuildRequest_QuotesTheConversation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"type":"user","message":{"content":"Tidy up"}}
{"type":"assistant","message":{"content":[{"type":"text","text":"I will delete ./build."}]}}
`), 0o600))
	h := newHookRunIn(t, "")
	h.transcriptTimeout = time.Minute
	c := newCall(hook.Prompt, allCapabilities)
	require.Nil(t, h.buildRequest(c, hookDecision{}).Event.HumanInTheLoop.Context)
	c.Event.Payload = json.RawMessage(`{"transcript_path":` + strconv.Quote(path) + `}`)
	questionContext := h.buildRequest(c, hookDecision{}).Event.HumanInTheLoop.Context
	require.Equal(t, &schema.Context{UserPrompt: "Tidy up", LastMessage: "I will delete ./build."}, questionContext)
	require.Nil(t, c.Ask.Context, "the call is unchanged")

	c.Event.AgentID = "subagent" // its own transcript isn't named, and the one of its parent says something else
	require.Nil(t, h.buildRequest(c, hookDecision{}).Event.HumanInTheLoop.Context)
	c.Event.AgentTranscriptPath = path
	require.NotNil(t, h.buildRequest(c, hookDecision{}).Event.HumanInTheLoop.Context)
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
			require.Contains(t, p.verdict.Reason, policy.FileName)
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

func TestPolicyReason(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Denied by the Hookback policy", policyReason("Denied", policy.Result{}))
	require.Equal(t, "Denied by the Hookback policy (hookback.json:3): never", policyReason("Denied", policy.Result{Location: "hookback.json:3", Reason: "never"}))
}

func TestFallbackVerdict(t *testing.T) {
	t.Parallel()
	ask := hookDecision{ask: true, policy: policy.Result{Effect: policy.Ask}}
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
			h := hookRun{onUnreachable: test.option, env: clitest.NoEnv}
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
		"dismissed":     {permission(agentclient.Decision{Outcome: schema.Cancelled, Source: schema.ByDismissal}), hook.Verdict{}},
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
			require.Equal(t, test.want, (&hookRun{env: clitest.NoEnv}).verdictFor(c, hookDecision{}, test.d))
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
	e := schema.Event{Agent: "codex", SessionID: strings.Repeat("s", schema.MaxName), HookEventType: "PreToolUse", ToolUseID: "t\n1", Payload: []byte(`{"a":1}`)}
	key := idempotencyKey(&e)
	require.Len(t, key, 69)
	require.Equal(t, key, idempotencyKey(&e))
	for name, change := range map[string]func(e *schema.Event){
		"agent":   func(e *schema.Event) { e.Agent = "claude-code" },
		"session": func(e *schema.Event) { e.SessionID = "s" },
		"event":   func(e *schema.Event) { e.HookEventType = "PostToolUse" },
		"id":      func(e *schema.Event) { e.ToolUseID = "t2" },
		"content": func(e *schema.Event) { e.Payload = []byte(`{"a":2}`) },
	} {
		other := e
		change(&other)
		require.NotEqual(t, key, idempotencyKey(&other), name)
	}
	e.ToolUseID = ""
	first := idempotencyKey(&e)
	require.NotEqual(t, first, idempotencyKey(&e), "two equal calls are two questions")
}

// Cursor runs the user's hooks in ~/.cursor. The policy of the project applies anyway, also
// after the model has changed to another directory.
func TestEvaluatePolicy_StrictestDirectoryWins(t *testing.T) {
	t.Parallel()
	rules := func(then string) string { return `{"rules": [{"tool": "Bash", "then": "` + then + `"}]}` }
	require.Equal(t, []string{""}, newHookRun(clitest.NoEnv, cli.Streams{}).policyDirs(newCall(hook.Gate, allCapabilities)))
	for _, test := range []struct{ project, cwd, workDir, want string }{
		{"", "", "", ""},
		{"allow", "", "", ""}, // a model could write the rule itself
		{"", "allow", "", ""},
		{"", "", "allow", ""},
		{"", "deny", "", "deny"},
		{"", "", "deny", "deny"},
		{"allow", "ask", "", "ask"},
		{"ask", "deny", "allow", "deny"},
		{"deny", "ask", "allow", "deny"},
		{"allow", "", "{", "ask"},
	} {
		root := t.TempDir()
		h := newHookRun(func(name string) string {
			if name == "CLAUDE_PROJECT_DIR" {
				return filepath.Join(root, "project")
			}
			return ""
		}, cli.Streams{})
		h.workDir = filepath.Join(root, "here")
		for name, then := range map[string]string{"project": test.project, "cwd": test.cwd, "here": test.workDir} {
			switch then {
			case "":
			case "{":
				writePolicy(t, filepath.Join(root, name), "{")
			default:
				writePolicy(t, filepath.Join(root, name), rules(then))
			}
		}
		c := newCall(hook.Gate, allCapabilities)
		c.Ask.Context = &schema.Context{Cwd: filepath.Join(root, "cwd")}
		require.Equal(t, policy.Effect(test.want), h.evaluatePolicy(c, false).Effect, test)
		c.Ask.Context.Cwd, c.Roots = "", []string{filepath.Join(root, "other"), filepath.Join(root, "cwd")}
		require.Equal(t, policy.Effect(test.want), h.evaluatePolicy(c, false).Effect, "a folder of the workspace: %v", test)
	}
}

func writePolicy(t *testing.T, dir, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, policy.FileName), []byte(text), 0o600))
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// The event contains the policy's verdict, and nothing if it has no opinion.
func TestRecordVerdict(t *testing.T) {
	t.Parallel()
	const rule = `{"rules":[{"tool":"Bash","then":"%s"}]}`
	for then, want := range map[string]string{"allow": "ask", "deny": "deny", "ask": "ask"} { // a project may not allow
		h := newHookRunIn(t, strings.Replace(rule, "%s", then, 1))
		c := newCall(hook.Gate, allCapabilities)
		hd := h.decide(c, false)
		hd.recordVerdict(&c.Event)
		if then == "allow" {
			require.Empty(t, c.Event.Extra)
			continue
		}
		require.JSONEq(t, `{"verdict":"`+want+`","by":"policy","rule":"`+filepath.Join(h.workDir, policy.FileName)+`:1"}`, string(c.Event.Extra["hook"]))
	}
	h := newHookRunIn(t, "")
	c := newCall(hook.Gate, allCapabilities)
	c.Event.Extra = map[string]json.RawMessage{"hook": []byte(`{"unknownEvent":true}`)}
	hd := h.decide(c, false)
	hd.recordVerdict(&c.Event)
	require.JSONEq(t, `{"unknownEvent":true}`, string(c.Event.Extra["hook"]))
}

// An agent renamed the event of its gate, or added another one. The call is still gated, and the log
// says so.
func TestHookRun_GatesUnknownEvent(t *testing.T) {
	t.Parallel()
	frozen := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(control.AppliedHeader, control.MinimalReturn)
		_, _ = io.WriteString(w, `{"id":1,"directive":{"freeze":{"id":1,"by":"Ada"}}}`)
	}))
	t.Cleanup(frozen.Close)
	for name, test := range map[string]struct{ rules, hub, reason string }{
		"policy":  {`{"rules":[{"tool":"Bash","then":"deny","reason":"Not here."}]}`, "", "Denied by the Hookback policy (FILE:1): Not here."},
		"freeze":  {"", frozen.URL, "Ada froze all agents."},
		"neither": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHookRunIn(t, test.rules)
			home := t.TempDir()
			env := map[string]string{"HOME": home, "HOOKBACK_URL": cmp.Or(test.hub, clitest.ClosedHubURL(t)), "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
			h.env = func(name string) string { return env[name] }
			h.log, h.spool = hookLog{filepath.Join(home, "hook.log")}, report.NewSpool(h.env)
			var out strings.Builder
			h.std = cli.Streams{In: strings.NewReader(`{"session_id":"1","cwd":"` + h.workDir + `","hook_event_name":"BeforeTools","tool_name":"Bash","tool_input":{"command":"ls"}}`), Out: &out}
			h.agent, _ = hook.Find("claude-code")
			c, truncated, err := h.readCall()
			require.NoError(t, err)
			require.Equal(t, "PreToolUse", c.Event.HookEventType)
			require.JSONEq(t, `{"unknownEvent":true}`, string(c.Event.Extra["hook"]))
			require.Equal(t, 0, h.handle(t.Context(), c, truncated))
			if test.reason == "" {
				require.Empty(t, out.String())
			} else {
				require.Contains(t, out.String(), `"hookSpecificOutput":{"hookEventName":"BeforeTools","permissionDecision":"deny","permissionDecisionReason":"`+
					strings.ReplaceAll(test.reason, "FILE", filepath.Join(h.workDir, policy.FileName)))
			}
			log, _ := os.ReadFile(h.log.file)
			require.Contains(t, string(log), `Claude Code sent an unknown event "BeforeTools" with a tool call`)
		})
	}
}

// A git worktree belongs to its project: its events have the project's name, its questions the project's
// directory, and the policy of the main working tree applies, even one that is not in the repository.
func TestHook_WorktreeBelongsToProject(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	shop, tree := filepath.Join(root, "shop"), filepath.Join(root, "fix-1")
	folder := filepath.Join(shop, ".git", "worktrees", "fix-1")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "web"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+folder+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "gitdir"), []byte(filepath.Join(tree, ".git")+"\n"), 0o600))
	writePolicy(t, shop, `{"rules": [{"tool": "Bash", "then": "ask"}]}`)
	for dir, want := range map[string][2]string{tree: {"shop", shop}, filepath.Join(tree, "web"): {"web", filepath.Join(shop, "web")}, shop: {"shop", ""}} {
		input, err := json.Marshal(map[string]any{
			"session_id": "s", "cwd": dir, "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": map[string]string{"command": "ls"},
		})
		require.NoError(t, err)
		h := newHookRun(clitest.NoEnv, cli.Streams{In: bytes.NewReader(input)})
		h.workDir = dir
		h.agent, _ = hook.Find("claude-code")
		c, truncated, err := h.readCall()
		require.NoError(t, err)
		hd := h.decide(c, truncated)
		require.Equal(t, policy.Ask, hd.policy.Effect, dir)
		e := h.buildRequest(c, hd).Event
		require.Equal(t, want[0], e.SourceApp)
		require.Equal(t, dir, e.HumanInTheLoop.Context.Cwd)
		require.Equal(t, want[1], e.HumanInTheLoop.Context.Project)
	}
}

func TestHook_MarksChosenApplication(t *testing.T) {
	t.Parallel()
	for app, want := range map[string]string{"": `false`, "web": `true`} {
		h := newHookRun(clitest.NoEnv, cli.Streams{In: strings.NewReader(`{"session_id":"s","cwd":"/home/dev/web","hook_event_name":"Stop"}`)})
		h.agent, _ = hook.Find("claude-code")
		h.app = app
		c, _, err := h.readCall()
		require.NoError(t, err)
		var facts struct{ AppChosen bool }
		require.NoError(t, json.Unmarshal(c.Event.Extra[control.GateMember], &facts))
		require.Equal(t, want, strconv.FormatBool(facts.AppChosen), app)
	}
}
