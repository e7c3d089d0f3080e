package agentclient_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

func toolCall(name, arguments string) agentclient.ToolCall {
	return agentclient.ToolCall{Name: name, Arguments: json.RawMessage(arguments)}
}

func TestRequireApproval_AcceptsOnlyKnownTools(t *testing.T) {
	t.Parallel()
	tools := []string{"read_file", "write_file", "delete_file"}
	p, err := agentclient.RequireApproval(tools, []string{"delete_file", "write_file"})
	require.NoError(t, err)
	require.Equal(t, policy.Ask, p.Evaluate(toolCall("delete_file", `{}`)).Effect)
	require.Empty(t, p.Evaluate(toolCall("read_file", `{}`)).Effect)
	for _, slip := range []string{"delete_files", "Delete_file", "delete*", ""} {
		_, err = agentclient.RequireApproval(tools, []string{"write_file", slip})
		require.ErrorIs(t, err, schema.ErrInvalid)
		require.ErrorContains(t, err, "each requireApproval entry must also appear in toolNames")
	}
	p, err = agentclient.RequireApproval(tools, nil)
	require.NoError(t, err)
	require.Empty(t, p.Evaluate(toolCall("delete_file", `{}`)).Effect)
}

// TestGuard_AsksForToolsThatRequireApproval: only the calls of tools whose metadata require an approval
// wait. The question has the tool's name and input, and nothing runs before the answer.
func TestGuard_AsksForToolsThatRequireApproval(t *testing.T) {
	t.Parallel()
	metadata := map[string]struct{ requiresApproval bool }{"cms_publishPost": {true}, "cms_getPost": {false}}
	var names, required []string
	for name, m := range metadata {
		names = append(names, name)
		if m.requiresApproval {
			required = append(required, name)
		}
	}
	p, err := agentclient.RequireApproval(names, required)
	require.NoError(t, err)
	b := setup(t, &fixtureConfig{})
	var do toolRecorder
	guard := agentclient.Guard(b.client, p, do.run)
	r, err := guard(b.ctx, agentclient.ToolCall{Name: "cms_getPost", Arguments: raw(`{"slug":"a"}`)})
	require.NoError(t, err)
	require.Nil(t, r.Decision, "no one is asked")
	require.Len(t, do.calls(), 1)

	got := callGuarded(b.ctx, guard, agentclient.ToolCall{Name: "cms_publishPost", Arguments: raw(`{"slug":"a"}`)})
	asked := b.waitForQuestion(t, 1)
	require.Equal(t, "cms_publishPost", asked.Event.HumanInTheLoop.ToolCall.Name)
	require.JSONEq(t, `{"slug":"a"}`, string(asked.Event.HumanInTheLoop.ToolCall.Arguments))
	require.Equal(t, "Run cms_publishPost?", asked.Event.HumanInTheLoop.Question)
	require.Len(t, do.calls(), 1, "the call waits")
	_, err = asked.Push(b.ctx, approval())
	require.NoError(t, err)
	require.Equal(t, agentclient.Ran, (<-got).Status)
	require.Equal(t, "cms_publishPost", do.calls()[1].Name)
}

func TestByRole_AppliesPolicyOfRole(t *testing.T) {
	t.Parallel()
	role := ""
	p := agentclient.ByRole(func(agentclient.ToolCall) string { return role }, map[string]policy.Policy{
		"support": policy.Any(policy.Tools("process_refund", "delete_order"), policy.Above("amount", 10_000)),
		"manager": policy.Above("amount", 50_000),
		"system":  policy.Never(),
	})
	for _, c := range []struct {
		role, tool, arguments string
		want                  policy.Effect
	}{
		{"support", "process_refund", `{"amount":10}`, policy.Ask},
		{"support", "send_payment", `{"amount":10001}`, policy.Ask},
		{"support", "send_payment", `{"amount":10000}`, ""},
		{"manager", "process_refund", `{"amount":10001}`, ""},
		{"manager", "process_refund", `{"amount":50001}`, policy.Ask},
		{"system", "delete_order", `{}`, ""},
		{"unknown", "read", `{}`, policy.Ask},
	} {
		role = c.role
		require.Equal(t, c.want, p.Evaluate(toolCall(c.tool, c.arguments)).Effect, "%s %s %s", c.role, c.tool, c.arguments)
	}
}

func TestApprovals_AreOffByDefault(t *testing.T) {
	t.Parallel()
	var off, on agentclient.Approvals
	require.NoError(t, json.Unmarshal([]byte(`{"tool-names":["delete_order"]}`), &off))
	require.NoError(t, json.Unmarshal([]byte(`{"enabled":true,"timeout-ms":60000,"tool-names":["delete_order"]}`), &on))
	var fromYAML agentclient.Approvals
	require.NoError(t, yaml.Unmarshal([]byte("enabled: true\ntimeout-ms: 60000\ntool-names: [delete_order]\n"), &fromYAML))
	require.Equal(t, on, fromYAML)
	require.Empty(t, off.Evaluate(toolCall("delete_order", `{}`)).Effect, "the default is off")
	require.Equal(t, policy.Ask, on.Evaluate(toolCall("delete_order", `{}`)).Effect)
	require.Empty(t, on.Evaluate(toolCall("read_order", `{}`)).Effect)
	var r agentclient.Request
	off.Details(agentclient.ToolCall{}, &r)
	require.Zero(t, r.Timeout, "0 means the default of five minutes")
	on.Details(agentclient.ToolCall{}, &r)
	require.Equal(t, time.Minute, r.Timeout)

	on.Policy = policy.Always() // Policy replaces ToolNames
	require.Equal(t, policy.Ask, on.Evaluate(toolCall("read_order", `{}`)).Effect)
	on.Policy = policy.Never()
	require.Empty(t, on.Evaluate(toolCall("delete_order", `{}`)).Effect)
}

// The tools of a subagent are guarded at the point where they run, so that delegation
// can't bypass the gate. Delegation itself needs no approval.
func TestApprovals_GuardSubagentTools(t *testing.T) {
	t.Parallel()
	b := setup(t, &fixtureConfig{})
	var refund toolRecorder
	gate := agentclient.Approvals{Enabled: true, ToolNames: []string{refundCall.Name}}
	worker := agentclient.Guard(b.client, gate, refund.run, func(_ agentclient.ToolCall, r *agentclient.Request) {
		r.AgentPath = []string{"supervisor", "refund worker"}
	})
	supervisor := agentclient.Guard(b.client, gate,
		func(ctx context.Context, _ agentclient.ToolCall) (agentclient.QueueResult[string], error) {
			r, err := worker(ctx, refundCall)
			return r.Queue(), err
		})
	type both struct {
		r   agentclient.Result[agentclient.QueueResult[string]]
		err error
	}
	got := make(chan both, 1)
	go func() {
		r, err := supervisor(b.ctx, toolCall("delegate_to_refund", `{}`))
		got <- both{r, err}
	}()
	q := b.waitForQuestion(t, 1)
	require.Equal(t, []string{"supervisor", "refund worker"}, q.Event.HumanInTheLoop.AgentPath)
	require.Equal(t, refundCall.Name, q.Event.HumanInTheLoop.ToolCall.Name)
	_, err := q.Push(b.ctx, denial())
	require.NoError(t, err)
	r := <-got
	require.NoError(t, r.err)
	require.Equal(t, agentclient.Ran, r.r.Status)
	require.True(t, r.r.Output.Cancelled)
	require.Empty(t, refund.calls())
}

func TestResult_ConvertsToOtherFormats(t *testing.T) {
	t.Parallel()
	timeout, no := agentclient.Decision{Outcome: schema.Timeout}, agentclient.Decision{Outcome: schema.Deny}
	for name, c := range map[string]struct {
		result              agentclient.Result[string]
		queue, confirmation string
	}{
		"ran": {agentclient.Result[string]{Status: agentclient.Ran, Output: "done"}, `{"success":true,"output":"done"}`, `{"status":"completed"}`},
		"denied": {
			agentclient.Result[string]{Status: agentclient.Denied, Decision: &no},
			`{"success":false,"cancelled":true,"reason":"User denied approval"}`, `{"status":"rejected","message":"Tool call was rejected by user."}`,
		},
		"denied with a reason": {
			agentclient.Result[string]{Status: agentclient.Denied, Reason: "Duplicate refund", Decision: &no},
			`{"success":false,"cancelled":true,"reason":"Duplicate refund"}`, `{"status":"rejected","message":"Tool call was rejected by operator: Duplicate refund"}`,
		},
		"timeout": {
			agentclient.Result[string]{Status: agentclient.Unanswered, Decision: &timeout},
			`{"success":false,"cancelled":true,"reason":"Approval request timed out: no one answered"}`, `{"status":"timeout","message":"Tool call timed out waiting for approval"}`,
		},
		"canceled": {
			agentclient.Result[string]{Status: agentclient.Unanswered, Reason: "superseded", Decision: &agentclient.Decision{Outcome: schema.Cancelled}},
			`{"success":false,"cancelled":true,"reason":"superseded"}`, `{"status":"unanswered","message":"superseded"}`,
		},
		"unconfirmed": {
			agentclient.Result[string]{Status: agentclient.Unconfirmed, Guidance: "Ask first."},
			`{"success":false,"cancelled":true,"reason":"A person has to confirm this first"}`, `{"status":"confirmation_requested","message":"Ask first."}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue, err := json.Marshal(c.result.Queue())
			require.NoError(t, err)
			require.JSONEq(t, c.queue, string(queue))
			confirmation, err := json.Marshal(c.result.Confirmation())
			require.NoError(t, err)
			require.JSONEq(t, c.confirmation, string(confirmation))
		})
	}
}
