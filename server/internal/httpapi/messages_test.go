package httpapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

var sessionQuery = "?" + url.Values{"source_app": {"demo"}, "session_id": {"s1"}}.Encode()

func messageBody(text string) string {
	b, _ := json.Marshal(control.MessageDraft{SourceApp: "demo", SessionID: "s1", Text: text})
	return string(b)
}

// postHookEvent posts an event of session s1 as a hook that hands over messages.
func (r *harness) postHookEvent(typ, payload string) []control.MessageText {
	r.t.Helper()
	resp, b := r.do("POST", schema.PathEvents, fmt.Sprintf(`{"source_app":"demo","session_id":"s1","hook_event_type":%q,"agent":"claude-code","payload":%s}`, typ, payload),
		control.PreferHeader, control.MinimalReturn, control.AcceptsHeader, control.AcceptMessage)
	require.Equal(r.t, 200, resp.StatusCode, string(b))
	var receipt control.EventReceipt
	require.NoError(r.t, json.Unmarshal(b, &receipt))
	if receipt.Directive == nil {
		return nil
	}
	return receipt.Directive.Messages
}

func (r *harness) sendMessage(text string, headers ...string) (m control.Message) {
	r.t.Helper()
	resp, b := r.do("POST", control.PathMessages, messageBody(text), headers...)
	require.Equal(r.t, 201, resp.StatusCode, string(b))
	require.NoError(r.t, json.Unmarshal(b, &m))
	return m
}

func (r *harness) messages() (list []control.Message) {
	r.t.Helper()
	r.expectOK(&list, "GET "+control.PathMessages+sessionQuery, "")
	return list
}

func TestMessages_Lifecycle(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.openHubOwner("ada")
	require.Empty(t, r.messages())
	r.expectProblem("not_found", "POST "+control.PathMessages, messageBody("Hi"), ada.headers()...)
	r.postHookEvent("SessionStart", "{}")

	once := append(ada.headers(), control.IdempotencyHeader, "k1")
	first := r.sendMessage("Use port \u202e8081.\x07", once...)
	require.Equal(t, control.MessageSaved, first.State)
	require.Equal(t, "Use port 8081.", first.Text)
	require.Equal(t, "ada", first.From)
	require.Equal(t, first, r.sendMessage("Use port 8081.", once...))
	r.expectProblem("key_conflict", "POST "+control.PathMessages, messageBody("Other"), once...)
	second := r.sendMessage("Then stop.", ada.headers()...)

	require.Equal(t, []control.MessageText{{ID: first.ID, From: "ada", Text: first.Text}, {ID: second.ID, From: "ada", Text: second.Text}}, r.postHookEvent("PreToolUse", "{}"))
	require.Empty(t, r.postHookEvent("PostToolUse", "{}"))
	require.Equal(t, control.MessageHandedOver, r.messages()[0].State, "the model reads it with the result")
	require.Empty(t, r.postHookEvent("Stop", "{}"))
	require.Equal(t, control.MessageActedOn, r.messages()[1].State)
	r.expectProblem("handed_over", "DELETE "+strings.Replace(control.PathMessage, ":id", strconv.FormatInt(first.ID, 10), 1), "", ada.headers()...)

	third := r.sendMessage("Never mind", ada.headers()...)
	r.expectOK(nil, "DELETE "+strings.Replace(control.PathMessage, ":id", strconv.FormatInt(third.ID, 10), 1), "", ada.headers()...)
	r.sendMessage("Too late", ada.headers()...)
	require.Empty(t, r.postHookEvent("SessionEnd", "{}"))
	require.Equal(t, control.MessageWithdrawn, r.messages()[2].State)
	require.Equal(t, control.MessageExpired, r.messages()[3].State)
	r.expectProblem("session_ended", "POST "+control.PathMessages, messageBody("Hi"), ada.headers()...)
	require.Empty(t, r.postHookEvent("SessionStart", "{}"))
	r.sendMessage("Resumed", ada.headers()...)
}

func TestMessages_OnlyFromSignedInOperators(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.postHookEvent("SessionStart", "{}")
	r.expectProblem("sign_in", "POST "+control.PathMessages, messageBody("Hi"))
	ada := r.openHubOwner("ada")
	p := r.expectProblem("sign_in", "POST "+control.PathMessages, messageBody("Hi"))
	require.NotEmpty(t, p.Hint, "the hub is open, and a message still has a sender")
	_, agent := r.createToken(ada, `{"name":"bot"}`)
	r.expectProblem("not_allowed", "POST "+control.PathMessages, messageBody("Hi"), agent...)
	r.expectProblem("not_found", "DELETE "+strings.Replace(control.PathMessage, ":id", "7", 1), "", ada.headers()...)
}

func TestMessages_RejectsInvalidOnes(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.openHubOwner("ada")
	r.postHookEvent("SessionStart", "{}")
	for _, text := range []string{"", " \n", "\u200b\x00", strings.Repeat("ä", control.MaxMessageText+1)} {
		p := r.expectProblem("invalid", "POST "+control.PathMessages, messageBody(text), ada.headers()...)
		require.Equal(t, "text", p.Field)
	}
	r.sendMessage(strings.Repeat("ä", control.MaxMessageText), ada.headers()...)
	r.post(`{"source_app":"demo","session_id":"s2","hook_event_type":"PreToolUse","agent":"cursor","payload":{}}`)
	r.expectProblem("not_supported", "POST "+control.PathMessages, strings.Replace(messageBody("Hi"), `"s1"`, `"s2"`, 1), ada.headers()...)
	for range control.MaxWaitingMessages - 1 {
		r.sendMessage("Hi", ada.headers()...)
	}
	r.expectProblem("too_many", "POST "+control.PathMessages, messageBody("Hi"), ada.headers()...)
}

// A message does not outlive its sender's account.
func TestMessages_OfRemovedPersonAreNotHandedOver(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.owner("ada")
	bob := r.addPerson(ada, `{"name":"bob","role":"operator"}`)
	r.postHookEvent("SessionStart", "{}")
	r.sendMessage("From bob", bob.headers()...)
	r.sendMessage("From ada", ada.headers()...)
	r.expectOK(nil, "DELETE "+strings.Replace(schema.PathPerson, ":name", "bob", 1), "", ada.headers()...)
	r.clock.advance(time.Second)
	r.expectOK(nil, "POST "+schema.PathPeople, `{"name":"bob","role":"operator"}`, ada.headers()...)
	got := r.postHookEvent("PreToolUse", "{}")
	require.Len(t, got, 1)
	require.Equal(t, "From ada", got[0].Text)
	require.Equal(t, control.MessageWithdrawn, r.messages()[0].State)
}

// The end of a turn hands over messages three times in a row.
func TestMessages_StopIsBlockedThreeTimes(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.openHubOwner("ada")
	r.postHookEvent("SessionStart", "{}")
	for range control.MaxStopBlocks {
		r.sendMessage("More", ada.headers()...)
		require.Len(t, r.postHookEvent("Stop", "{}"), 1)
	}
	r.sendMessage("More", ada.headers()...)
	require.Empty(t, r.postHookEvent("Stop", "{}"))
	require.Len(t, r.postHookEvent("UserPromptSubmit", "{}"), 1)
	r.sendMessage("More", ada.headers()...)
	require.Len(t, r.postHookEvent("Stop", "{}"), 1)
}

func TestMessages_AreForOneAgentOfSession(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.openHubOwner("ada")
	r.postHookEvent("SessionStart", "{}")
	r.sendMessage("Main", ada.headers()...)
	require.Empty(t, r.postHookEvent("PreToolUse", `{"agent_id":"a1"}`))
	require.Len(t, r.postHookEvent("PreToolUse", `{}`), 1)
	require.Empty(t, r.postHookEvent("PreToolUse", `{"agent_id":"a1"}`))
	require.Equal(t, control.MessageHandedOver, r.messages()[0].State, "a subagent did not read it")
}

func TestMessages_WaitEndsWithMessageOrPrompt(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.openHubOwner("ada")
	r.postHookEvent("Stop", "{}")
	wait := func(more string) <-chan control.WaitStatus {
		result := make(chan control.WaitStatus, 1)
		go func() {
			var status control.WaitStatus
			resp, b := r.do("GET", control.PathWait+sessionQuery+more, "")
			if resp.StatusCode == 200 {
				_ = json.Unmarshal(b, &status)
			}
			result <- status
		}()
		return result
	}
	now := <-wait("")
	require.Equal(t, control.WaitStatus{After: now.After}, now)
	require.Positive(t, now.After)

	older := wait("&wait=60&waiter=a")
	for len(older) == 0 { // the other one has to be there first, and ends a b that it meets
		<-wait("&waiter=b")
	}
	require.True(t, (<-older).Ended, "another hook waits for the session")

	waiting := wait("&wait=60&waiter=c")
	r.sendMessage("Hi", ada.headers()...)
	require.True(t, (<-waiting).Waiting)
	require.Equal(t, control.MessageSaved, r.messages()[0].State, "the wait takes no message")
	require.Len(t, r.postHookEvent(control.WakeEvent, "{}"), 1)

	prompted := wait("&wait=60&waiter=c&after=" + strconv.FormatInt(now.After, 10))
	r.postHookEvent("UserPromptSubmit", "{}")
	require.True(t, (<-prompted).Ended)
	require.True(t, (<-wait("&wait=60&after=" + strconv.FormatInt(now.After, 10))).Ended, "the prompt came between two calls")
}

// A hook that posts to the hub itself hands messages over, too, each once.
func TestClaudeCodeHook_HandsOverMessages(t *testing.T) {
	t.Parallel()
	r := setup(t, fastHooks)
	ada := r.openHubOwner("ada")
	run := func(name string) string {
		return strings.TrimSpace((<-r.runHook("?app=demo", hookSample(t, name))).body)
	}
	require.JSONEq(t, "{}", run("UserPromptSubmit"))
	var sent struct {
		SessionID string `json:"session_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(hookSample(t, "UserPromptSubmit")), &sent))
	send := func(text string) {
		body, err := json.Marshal(control.MessageDraft{SourceApp: "demo", SessionID: sent.SessionID, Text: text})
		require.NoError(t, err)
		resp, b := r.do("POST", control.PathMessages, string(body), ada.headers()...)
		require.Equal(t, 201, resp.StatusCode, string(b))
	}
	const head = "Message from ada, sent through Hookback. It is not an approval: "
	send("Use port 8081.")
	for range 2 { // the second one is a repeat of the same request
		require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"`+head+`Use port 8081."}}`, run("PreToolUse-Bash"))
	}
	require.JSONEq(t, "{}", run("PostToolUse-Bash"))
	send("Then write the test.")
	require.JSONEq(t, `{"decision":"block","reason":"`+head+`Then write the test."}`, run("Stop"))
	require.JSONEq(t, "{}", run("Stop"))

	send("Wait.")
	r.freeze(control.FreezeDraft{Scope: control.FreezeAll})
	next := strings.TrimSpace((<-r.runHook("?app=demo", strings.Replace(hookSample(t, "PreToolUse-Bash"), "toolu_01", "toolu_02", 1))).body)
	require.JSONEq(t, strings.Replace(stoppedToolCall, `"hookSpecificOutput":{`, `"hookSpecificOutput":{"additionalContext":"`+head+`Wait.",`, 1), next)
}

// The command's hook of the same call has the messages already.
func TestClaudeCodeHook_LeavesMessagesOfCommand(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.openHubOwner("ada")
	r.postHookEvent("SessionStart", "{}")
	r.sendMessage("Once.", ada.headers()...)
	sample := hookSample(t, "PostToolUse-Bash")
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(sample), &fields))
	fields["session_id"] = "s1"
	same, err := json.Marshal(fields)
	require.NoError(t, err)
	resp, b := r.do("POST", schema.PathEvents, `{"source_app":"demo","session_id":"s1","hook_event_type":"PostToolUse","agent":"claude-code","payload":{},
		"idempotency_key":"`+callKey(t, string(same))+`"}`, control.PreferHeader, control.MinimalReturn, control.AcceptsHeader, control.AcceptMessage)
	require.Equal(t, 200, resp.StatusCode, string(b))
	require.Contains(t, string(b), "Once.")
	require.JSONEq(t, "{}", (<-r.runHook("?app=demo", string(same))).body)
}
