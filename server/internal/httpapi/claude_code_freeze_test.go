package httpapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

func (r *harness) freeze(d control.FreezeDraft) (f control.Freeze) {
	r.t.Helper()
	body, err := json.Marshal(d)
	require.NoError(r.t, err)
	resp, b := r.do("POST", control.PathFreezes, string(body))
	require.Equal(r.t, 201, resp.StatusCode, string(b))
	require.NoError(r.t, json.Unmarshal(b, &f))
	return f
}

func (r *harness) unfreeze(f control.Freeze) {
	r.t.Helper()
	resp, b := r.do("DELETE", fmt.Sprintf("%s/%d", control.PathFreezes, f.ID), "")
	require.Equal(r.t, 200, resp.StatusCode, string(b))
}

const (
	frozenToolCall = `{"hookSpecificOutput":{"hookEventName":"PreToolUse",
		"permissionDecision":"deny","permissionDecisionReason":"A local user froze all agents. Nothing ran. Wait for a person."}}`
	// The answers to a Claude Code with a dialog. A headless run goes on, so that it says what was not done.
	stoppedToolCall = `{"continue":false,"stopReason":"A local user froze all agents.","hookSpecificOutput":{"hookEventName":"PreToolUse",
		"permissionDecision":"deny","permissionDecisionReason":"A local user froze all agents. Nothing ran. Wait for a person."}}`
	stoppedRequest = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny",
		"message":"A local user froze all agents. Nothing ran. Wait for a person.","interrupt":true}}}`
)

func TestClaudeCodeHook_FreezeStopsToolCalls(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	f := r.freeze(control.FreezeDraft{Scope: control.FreezeAll, Reason: "prod incident"})
	for i := range 2 { // the second one has the idempotency key of the first one
		for entrypoint, want := range map[string]string{"cli": stoppedToolCall, "sdk-cli": frozenToolCall, "": frozenToolCall} {
			h := <-r.runHookFrom(entrypoint, "", hookSample(t, "PreToolUse-Bash"))
			require.Equal(t, 200, h.status, i)
			require.JSONEq(t, want, h.body, entrypoint)
		}
	}
	require.Equal(t, "PreToolUse", r.event(1).HookEventType, "the call is in the log")
	require.EqualValues(t, 1, r.store.Head())
	var list control.FreezeList
	_, b := r.do("GET", control.PathFreezes, "")
	require.NoError(t, json.Unmarshal(b, &list))
	require.Equal(t, [2]int{1, 0}, [2]int{list.Stopped, list.Uncontrolled})
	for _, name := range []string{"PostToolUse-Bash", "UserPromptSubmit", "Stop"} {
		require.JSONEq(t, "{}", (<-r.runHook("", hookSample(t, name))).body, name)
	}
	require.JSONEq(t, stoppedRequest, strings.TrimSpace((<-r.runHook("", hookSample(t, "PermissionRequest-Bash"))).body))
	r.unfreeze(f)
	require.JSONEq(t, "{}", (<-r.runHook("", hookSample(t, "PreToolUse-subagent"))).body)

	other := r.freeze(control.FreezeDraft{Scope: control.FreezeApp, SourceApp: "other"})
	require.JSONEq(t, "{}", (<-r.runHook("", hookSample(t, "PreToolUse-subagent"))).body)
	require.Contains(t, (<-r.runHook("?app=other", hookSample(t, "PreToolUse-subagent"))).body, `"continue":false`)
	r.unfreeze(other)
}

// The hub does not know the event, but it carries a call that is about to run.
func TestClaudeCodeHook_FreezeStopsUnknownEvent(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	unknown := strings.Replace(hookSample(t, "PreToolUse-Bash"), "PreToolUse", "BeforeTools", 1)
	require.JSONEq(t, "{}", (<-r.runHook("", unknown)).body)
	require.Equal(t, "PreToolUse", r.event(1).HookEventType)
	require.JSONEq(t, `{"unknownEvent":true}`, string(r.event(1).Extra["hook"]), "the page reports it")
	r.freeze(control.FreezeDraft{Scope: control.FreezeAll, Reason: "prod incident"})
	require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"BeforeTools","permissionDecision":"deny",
		"permissionDecisionReason":"A local user froze all agents. Nothing ran. Wait for a person."}}`, (<-r.runHook("", unknown)).body)
}

// The command hook of the same call stored the event first, with other members.
func TestClaudeCodeHook_FreezeStopsCallThatCommandReported(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(`{"source_app":"shop-api","session_id":"s","hook_event_type":"PreToolUse","payload":{},"idempotency_key":"` + callKey(t, hookSample(t, "PreToolUse-Bash")) + `"}`)
	r.freeze(control.FreezeDraft{Scope: control.FreezeAll})
	require.JSONEq(t, stoppedToolCall, (<-r.runHook("", hookSample(t, "PreToolUse-Bash"))).body)
	require.EqualValues(t, 1, r.store.Head())

	deep := `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`
	require.JSONEq(t, stoppedToolCall, (<-r.runHook("", deep)).body, "a call that the hub does not store")
}

// A request that can't wait for an answer is denied, too: Claude Code's own dialog would open.
func TestClaudeCodeHook_FreezeStopsRequestsWithoutPlace(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks, func(c *Config) { c.Places.Waiting = middleware.PlaceLimit{Total: 1, PerOwner: 1} })
	ask := r.ask(t.Context(), `{"question":"Which?","type":"choice","choices":["a","b"]}`)
	r.waitForQuestion(1)
	r.freeze(control.FreezeDraft{Scope: control.FreezeAll})
	require.JSONEq(t, stoppedRequest, (<-r.runHook("", hookSample(t, "PermissionRequest-Bash"))).body)
	r.do("POST", schema.At(schema.PathCancel, 1), `{}`)
	<-ask
}

func TestFreeze_DeniesRequestsThatWait(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	hook := r.runHookFrom("cli", "", hookSample(t, "PermissionRequest-Bash"))
	r.waitForQuestion(1)
	form := r.runHook("", hookSample(t, "PermissionRequest-AskUserQuestion"))
	r.waitForQuestion(2)
	permission := r.ask(t.Context(), `{"question":"Deploy?","type":"permission"}`)
	r.waitForQuestion(3)
	retried := r.ask(t.Context(), `{"question":"Deploy again?","type":"permission"}`, schema.IdempotencyHeader, "k")
	r.waitForQuestion(4)
	choice := r.ask(t.Context(), `{"question":"Which?","type":"choice","choices":["a","b"]}`)
	r.waitForQuestion(5)
	posted := r.post(event(1, `"humanInTheLoop":{"question":"Go on?","type":"permission"}`))

	f := r.freeze(control.FreezeDraft{Scope: control.FreezeAll})
	require.JSONEq(t, stoppedRequest, (<-hook).body)
	for _, done := range []<-chan hookResult{permission, retried} {
		a := r.answerOf(<-done)
		require.Equal(t, schema.Deny, a.Outcome)
		require.Equal(t, schema.ByFreeze, a.Source)
		require.False(t, *a.Permission)
	}
	for _, id := range []schema.EventID{2, 5, posted.ID} {
		require.Equal(t, schema.Pending, r.event(id).HumanInTheLoopStatus.Status, "stays pending: %d", id)
	}
	resp, b := r.do("POST", schema.At(schema.PathRespond, 5), `{"choice":"a"}`)
	require.Equal(t, "frozen", r.problem(resp, b).Code)
	r.unfreeze(f)
	r.answer(5, `{"choice":"a"}`)
	require.Equal(t, "a", *r.answerOf(<-choice).Choice)
	r.do("POST", schema.At(schema.PathCancel, 2), `{}`)
	<-form
}

// A freeze stops the requests of its agents only.
func TestFreeze_LeavesRequestsOfOthers(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	done := r.runHook("", hookSample(t, "PermissionRequest-Bash"))
	r.waitForQuestion(1)
	r.freeze(control.FreezeDraft{Scope: control.FreezeApp, SourceApp: "other"})
	require.Equal(t, schema.Pending, r.event(1).HumanInTheLoopStatus.Status)
	r.answer(1, `{"permission":true}`)
	require.Contains(t, (<-done).body, `"behavior":"allow"`)
}

// An approval that is final before the freeze is delivered: the person gave it, and its agent is
// stopped at its next tool call.
func TestFreeze_DeliversEarlierApproval(t *testing.T) {
	t.Parallel()
	r := setup(t)
	posted := r.post(event(1, `"humanInTheLoop":{"question":"Go on?","type":"permission","requestSecret":"`+strings.Repeat("s", 32)+`"}`))
	r.answer(posted.ID, `{"permission":true}`)
	r.freeze(control.FreezeDraft{Scope: control.FreezeAll})
	resp, b := r.do("GET", schema.At(schema.PathResponse, posted.ID), "", schema.SecretHeader, strings.Repeat("s", 32))
	require.Equal(t, 200, resp.StatusCode, string(b))
	require.Contains(t, string(b), `"permission":true`)
}

func TestFreeze_RefusesSignedLink(t *testing.T) {
	t.Parallel()
	r := setupNotifications(t)
	box, addr := startMailServer(t)
	ada := r.owner("ada")
	r.expectOK(nil, "POST "+schema.PathChannels, `{"name":"mail","url":"smtp://`+addr+`/?from=hub@example.com"}`, ada.headers()...)
	r.post(event(1, permission))
	found := regexp.MustCompile(`https://hub\.example\.com(/hitl/\d+/vote)#(\S+)`).FindStringSubmatch(<-box)
	require.NotNil(t, found)
	f := r.freeze(control.FreezeDraft{Scope: control.FreezeAll})
	r.expectProblem("frozen", "POST "+found[1], `{"token":"`+found[2]+`","permission":true}`)
	r.expectOK(nil, fmt.Sprintf("DELETE %s/%d", control.PathFreezes, f.ID), "", ada.headers()...)
	var e schema.Event
	r.expectOK(&e, "POST "+found[1], `{"token":"`+found[2]+`","permission":true}`)
	require.Equal(t, schema.Approve, e.HumanInTheLoopStatus.Outcome, "the link was not used up")
}

// A passkey's assertion that a person gave before the freeze approves nothing while it lasts.
func TestFreeze_RefusesPasskeyApproval(t *testing.T) {
	t.Parallel()
	r := setupPasskeys(t)
	ada, d := r.openHubOwner("ada"), newFakeAuthenticator(t)
	r.register(ada, d)
	question := r.post(event(1, dangerous))
	respond := "POST " + schema.At(schema.PathRespond, question.ID)
	signed := withAssertion(approveBody, d.get(r.challenge(ada, question.ID, approveBody)))
	resp, b := r.do("POST", control.PathFreezes, `{"scope":"all"}`, ada.headers()...)
	require.Equal(t, 201, resp.StatusCode, string(b))
	var f control.Freeze
	require.NoError(t, json.Unmarshal(b, &f))
	r.expectProblem("frozen", respond, signed, ada.headers()...)
	require.Equal(t, schema.Pending, r.event(question.ID).HumanInTheLoopStatus.Status)
	r.expectOK(nil, fmt.Sprintf("DELETE %s/%d", control.PathFreezes, f.ID), "", ada.headers()...)
	var e schema.Event
	r.expectOK(&e, respond, withAssertion(approveBody, d.get(r.challenge(ada, question.ID, approveBody))), ada.headers()...)
	require.Equal(t, schema.Approve, e.HumanInTheLoopStatus.Outcome)
}
