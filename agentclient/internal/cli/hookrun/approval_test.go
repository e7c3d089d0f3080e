package hookrun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// observedEffect is the behavior of an agent after a reply. It follows the documentation and
// experiments with the agents, independently of the adapters.
type observedEffect struct {
	approves bool // the call runs, possibly edited, or a question gets an answer
	holds    bool // the call does not run unless a person at the agent approves it
}

// observeEffect interprets a reply as the agent does.
func observeEffect(agent string, point hook.Point, r hook.Reply) observedEffect {
	var o struct {
		Decision, Permission, PermissionDecision, Behavior, Reply, Action string

		UpdatedInput       json.RawMessage `json:"updated_input"`
		ModifiedArgs       json.RawMessage
		Answers            json.RawMessage
		OverrideInput      json.RawMessage
		Cancel             bool
		Reason             string
		HookSpecificOutput struct {
			PermissionDecision string
			Action             string
			UpdatedInput       json.RawMessage
			ToolInput          json.RawMessage `json:"tool_input"`
			Decision           struct {
				Behavior     string
				UpdatedInput json.RawMessage
			}
		}
	}
	readable := len(r.Stdout) == 0 || json.Unmarshal(r.Stdout, &o) == nil
	h := o.HookSpecificOutput
	verdicts := []string{o.Decision, o.Permission, o.PermissionDecision, o.Behavior, o.Reply, o.Action, h.PermissionDecision, h.Action, h.Decision.Behavior}
	hasAny := func(values ...string) bool {
		for _, value := range verdicts {
			for _, v := range values {
				if value == v {
					return true
				}
			}
		}
		return false
	}
	denies := hasAny("deny", "block", "reject", "decline", "cancel") || o.Cancel || r.Exit == 2
	e := observedEffect{
		approves: hasAny("allow", "approve", "once", "always", "accept") ||
			(o.UpdatedInput != nil || o.ModifiedArgs != nil || o.OverrideInput != nil || h.UpdatedInput != nil ||
				h.ToolInput != nil || h.Decision.UpdatedInput != nil || o.Answers != nil) && !denies,
		holds: denies || hasAny("ask", "force_ask"),
	}
	switch {
	case !readable: // Claude Code, Codex and Gemini run the call
		e.holds = false
	case agent == "codex" && hasAny("ask"): // Codex reports a failure and runs the call
		e.holds = false
	case agent == "codex" && point != hook.Prompt:
		e.holds = e.holds && codexAcceptsDeny(r.Stdout)
	case agent == "cursor" && point == hook.Prompt && hasAny("ask"):
		e.holds = false
	}
	return e
}

// codexAcceptsDeny reports whether Codex accepts a denial. It runs the call if the reply has an
// unknown member or no reason.
func codexAcceptsDeny(stdout []byte) bool {
	var o struct {
		Output struct {
			Event    string `json:"hookEventName"`
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	d := json.NewDecoder(strings.NewReader(string(stdout)))
	d.DisallowUnknownFields()
	return d.Decode(&o) == nil && o.Output.Reason != "" && o.Output.Event == "PreToolUse"
}

// The tests below depend on observeEffect.
func TestObservedEffect_DistinguishesReplies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agent, stdout string
		exit          int
		want          observedEffect
	}{
		{"claude-code", ``, 0, observedEffect{}},
		{"claude-code", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`, 0, observedEffect{approves: true}},
		{"claude-code", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}`, 0, observedEffect{holds: true}},
		{"claude-code", `{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}`, 0, observedEffect{approves: true}},
		{"claude-code", `{"hookSpecificOutput":{"action":"accept","content":{}}}`, 0, observedEffect{approves: true}},
		{"claude-code", `{bad`, 0, observedEffect{}},
		{"codex", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r"}}`, 0, observedEffect{holds: true}},
		{"codex", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`, 0, observedEffect{}},
		{"codex", `{"continue":true,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r"}}`, 0, observedEffect{}},
		{"codex", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"r"}}`, 0, observedEffect{}},
		{"gemini", `{"hookSpecificOutput":{"tool_input":{}}}`, 0, observedEffect{approves: true}},
		{"cursor", `{"permission":"ask"}`, 0, observedEffect{holds: true}},
		{"copilot", `{"behavior":"allow"}`, 0, observedEffect{approves: true}},
		{"opencode", `{"reply":"once"}`, 0, observedEffect{approves: true}},
		{"opencode", `{"answers":[["a"]]}`, 0, observedEffect{approves: true}},
		{"cline", `{"cancel":true}`, 0, observedEffect{holds: true}},
		{"cline", `{"overrideInput":{}}`, 0, observedEffect{approves: true}},
		{"windsurf", ``, 2, observedEffect{holds: true}},
	} {
		require.Equal(t, test.want, observeEffect(test.agent, hook.Gate, hook.Reply{Stdout: []byte(test.stdout), Exit: test.exit}), test.stdout)
	}
}

// sampleCall is a sample input and the call that the agent's adapter reads from it.
type sampleCall struct {
	name  string
	agent hook.AgentInfo
	env   map[string]string
	text  string
	call  hook.Call
}

// readSampleCalls reads all samples, each for an interactive and for a headless agent.
func readSampleCalls(t *testing.T) (all []sampleCall) {
	t.Helper()
	files, err := filepath.Glob("../../../hook/testdata/*.json")
	require.NoError(t, err)
	decides := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, a := range hook.Agents {
			native, ok := strings.CutPrefix(name, a.Name+"-")
			if !ok {
				continue
			}
			event, _, _ := strings.Cut(native, "-")
			for _, env := range []map[string]string{{}, {"HOOKBACK_HEADLESS": "1", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}} {
				sc := sampleCall{name: fmt.Sprint(name, len(env)), agent: a, env: env, text: string(text)}
				sc.call, err = a.Agent.Parse(hook.Input{Stdin: text, Event: event, Env: func(n string) string { return env[n] }})
				require.NoError(t, err, name)
				decides[a.Name] = decides[a.Name] || sc.call.Point != hook.Observe
				all = append(all, sc)
			}
		}
	}
	require.Len(t, decides, len(hook.Agents), "an agent has no sample")
	for agent, hasDecision := range decides {
		require.True(t, hasDecision, "no sample of %s asks for a decision", agent)
	}
	return all
}

// unapprovedDecisions are all outcomes of a question that are not an approval.
var unapprovedDecisions = []agentclient.Decision{
	{}, {Outcome: agentclient.Unreachable, Source: agentclient.NoHub}, {Outcome: agentclient.Malformed, Source: agentclient.BadAnswer},
	{Outcome: agentclient.Rejected, Source: agentclient.NotAsked}, {Outcome: schema.Timeout, Source: schema.ByTimeout},
	{Outcome: schema.NoQuorum, Source: schema.ByQuorum}, {Outcome: schema.Cancelled, Source: schema.ByCancel},
	{Outcome: schema.Withdrawn, Source: schema.ByAgent}, {Outcome: schema.Cancelled, Source: schema.ByOrphaned},
	{Outcome: schema.Deny, Source: schema.ByHuman}, {Outcome: "__new__"},
}

// No failure approves a call, for any agent and event. A call that the policy leaves to a
// person does not run if no person decides.
func TestHookRun_FailureNeverApproves(t *testing.T) {
	t.Parallel()
	rulings := []policy.Result{{}, {Effect: policy.Ask, Reason: "r"}}
	for _, c := range readSampleCalls(t) {
		for _, option := range []string{"", thenDeny, thenAsk} {
			for _, ruling := range rulings {
				h := &hookRun{agent: c.agent, onUnreachable: option, env: clitest.NoEnv}
				p := hookDecision{ask: true, policy: ruling}
				check := func(v hook.Verdict, agentContinued bool, what any) {
					got := observeEffect(c.agent.Name, c.call.Point, c.agent.Agent.Render(&c.call, v))
					require.False(t, got.approves, "%s, %q, %q: %v", c.name, option, ruling.Effect, what)
					gated := c.call.Point == hook.Gate || c.call.Point == hook.DeferToPrompt
					if gated && !agentContinued && (ruling.Effect == policy.Ask || option == thenDeny) {
						require.True(t, got.holds, "%s, %q: %v runs", c.name, option, what)
					}
				}
				for _, d := range unapprovedDecisions {
					for _, kind := range []schema.Kind{schema.Permission, schema.FreeText, schema.Choice} {
						d.Kind = kind
						if d.Outcome == schema.Deny && kind != schema.Permission {
							continue // the label "deny" is an answer
						}
						check(h.verdictFor(&c.call, p, d), d.Source == schema.ByAgent || d.Source == schema.ByOrphaned, d)
					}
				}
				for _, cause := range []error{errNoDashboard, errHubSlow, errDeadline, nil} {
					v, answered := h.errorVerdict(&c.call, p, cause, schema.ErrInvalid)
					require.True(t, answered)
					check(v, false, cause)
				}
				_, answered := h.errorVerdict(&c.call, p, errDismissed, context.Canceled)
				require.False(t, answered, "no output")
			}
		}
	}
}

// The same without a hub: an unreadable policy leaves every call to a person, and no one can
// be asked.
func TestHookRun_UnreachableHubNeverApproves(t *testing.T) {
	t.Parallel()
	hub := clitest.ClosedHubURL(t)
	for _, c := range readSampleCalls(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for option, broken := range map[string]bool{"": true, thenDeny: false, thenAsk: true} {
				env := map[string]string{"HOME": t.TempDir()}
				for name, value := range c.env {
					env[name] = value
				}
				var out, stderr strings.Builder
				h := newHookRun(func(name string) string { return env[name] }, cli.Streams{In: strings.NewReader(c.text), Out: &out, Err: &stderr})
				h.agent, h.workDir, h.onUnreachable, h.connectTimeout = c.agent, t.TempDir(), option, time.Millisecond
				h.selectHub().Hub = hub
				h.limit = 20 * time.Millisecond // of a hook that waits for a hub at an open prompt
				if broken {
					require.NoError(t, os.WriteFile(filepath.Join(h.workDir, policy.FileName), []byte("{"), 0o600))
				}
				call := c.call
				status := h.handle(t.Context(), &call, false)
				got := observeEffect(c.agent.Name, c.call.Point, hook.Reply{Stdout: []byte(out.String()), Exit: status})
				require.False(t, got.approves, out.String())
				if c.call.Point == hook.Gate && broken {
					require.True(t, got.holds, "it runs: %s", out.String())
				}
				if status == 0 {
					require.Empty(t, stderr.String())
				}
				stored := 1
				if broken && c.call.Event.HookEventType == "SessionStart" {
					stored++ // the report of the policy
				}
				require.Equal(t, stored, h.spool.Len(), "the event is stored once")
			}
		})
	}
}
