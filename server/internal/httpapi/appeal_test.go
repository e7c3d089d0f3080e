package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// appealFor is an appeal of the session about a shell command.
func appealFor(session, command string) string {
	return fmt.Sprintf(`{"source_app":"demo","session_id":%q,"hook_event_type":"PermissionDenied","agent":"claude-code",
		"payload":{"tool_name":"Bash","tool_input":{"command":%[2]q}},
		"humanInTheLoop":{"question":"Run it?","type":"permission","appeal":{"by":"Claude Code auto mode","reason":"No."},
			"toolCall":{"name":"Bash","arguments":{"command":%[2]q}}}}`, session, command)
}

// attempt posts the PreToolUse of a call as the hook does, and returns the status and the receipt.
func (r *harness) attempt(session, command, key string) (int, control.EventReceipt) {
	r.t.Helper()
	body := fmt.Sprintf(`{"source_app":"demo","session_id":%q,"hook_event_type":"PreToolUse","agent":"claude-code","idempotency_key":%q,
		"payload":{"tool_name":"Bash","tool_input":{"command":%q}}}`, session, key, command)
	resp, b := r.do("POST", schema.PathEvents, body, "Content-Type", "application/json",
		control.PreferHeader, control.MinimalReturn, control.AcceptsHeader, "grant, message, freeze")
	var receipt control.EventReceipt
	if resp.StatusCode == 200 {
		require.Equal(r.t, control.MinimalReturn, resp.Header.Get(control.AppliedHeader))
		require.NoError(r.t, json.Unmarshal(b, &receipt), string(b))
	}
	return resp.StatusCode, receipt
}

// grantCall approves an appeal about the command and returns the appeal.
func (r *harness) grantCall(session, command string) schema.EventID {
	r.t.Helper()
	id := r.post(appealFor(session, command)).ID
	resp, b := r.do("POST", schema.At(schema.PathRespond, id), `{"permission":true}`, "Content-Type", "application/json")
	require.Equal(r.t, 200, resp.StatusCode, string(b))
	return id
}

func (r *harness) ledgerActions() string {
	r.t.Helper()
	_, b := r.do("GET", "/api/ledger", "")
	return string(b)
}

func TestAppeal_GrantAllowsExactlyTheCallOnce(t *testing.T) {
	t.Parallel()
	r := setup(t)
	_, none := r.attempt("s1", "rm -rf build", "k0")
	require.Nil(t, none.Directive, "nothing is granted")
	id := r.grantCall("s1", "rm -rf build")
	for _, other := range [][2]string{{"s1", "rm -rf dist"}, {"s2", "rm -rf build"}} {
		_, receipt := r.attempt(other[0], other[1], other[0]+other[1])
		require.Nil(t, receipt.Directive, "%q", other)
	}
	_, used := r.attempt("s1", "rm -rf build", "k1")
	require.NotNil(t, used.Directive)
	grant := used.Directive.Grant
	require.Equal(t, id, grant.Question)
	require.Equal(t, control.Digest("Bash", json.RawMessage(`{"command":"rm -rf build"}`)), grant.Digest)
	require.NotNil(t, grant.Approval, "a hook of an account that trusts the hub needs the signature")

	_, repeated := r.attempt("s1", "rm -rf build", "k1")
	require.Equal(t, used, repeated, "a repeat gets the same directive")
	status, _ := r.attempt("s1", "rm -rf dist", "k1")
	require.Equal(t, 409, status, "another body under the key")
	_, again := r.attempt("s1", "rm -rf build", "k2")
	require.Nil(t, again.Directive, "a grant works once")
	ledger := r.ledgerActions()
	require.Contains(t, ledger, "grant.made")
	require.Equal(t, 1, strings.Count(ledger, "grant.used"))
}

func TestAppeal_WithoutApprovalNothingIsGranted(t *testing.T) {
	t.Parallel()
	r := setup(t)
	id := r.post(appealFor("s1", "rm -rf build")).ID
	resp, b := r.do("POST", schema.At(schema.PathRespond, id), `{"permission":false}`, "Content-Type", "application/json")
	require.Equal(t, 200, resp.StatusCode, string(b))
	_, receipt := r.attempt("s1", "rm -rf build", "k1")
	require.Nil(t, receipt.Directive)

	id = r.post(appealFor("s1", "rm -rf build")).ID
	resp, b = r.do("POST", schema.PathApprove, fmt.Sprintf(`{"requests":[{"id":%d,"revision":1}]}`, id), "Content-Type", "application/json")
	require.Equal(t, 200, resp.StatusCode)
	require.Contains(t, string(b), `"problem"`, "no bulk approval")
}

func TestAppeal_GrantNeedsTheHeadersAndTheExactCall(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.grantCall("s1", "deploy --n 1")
	_, receipt := r.attempt("s1", "deploy --n 1.0", "k1")
	require.Nil(t, receipt.Directive, "numbers and texts count as written")
	resp, b := r.do("POST", schema.PathEvents, `{"source_app":"demo","session_id":"s1","hook_event_type":"PreToolUse",
		"payload":{"tool_name":"Bash","tool_input":{"command":"deploy --n 1"}}}`, "Content-Type", "application/json")
	require.Equal(t, 200, resp.StatusCode)
	require.NotContains(t, string(b), "directive", "without the headers the response is the event")
	_, receipt = r.attempt("s1", "deploy --n 1", "k2")
	require.NotNil(t, receipt.Directive, "and uses nothing")
}

func TestAppeal_TimeoutIsShortWithoutNotifications(t *testing.T) {
	t.Parallel()
	r := setup(t)
	e := r.post(appealFor("s1", "ls"))
	require.LessOrEqual(t, e.HumanInTheLoopStatus.ExpiresAt-schema.Millis(time.Now().UnixMilli()),
		schema.Millis((2 * time.Minute).Milliseconds()))
}

// Most people answer on their own machine without a sign-in. Their reason reaches the model as that of any
// other denial does, without a name, unless the hub has been locked in the meantime.
func TestAppeal_ReasonReachesModelWithoutSignIn(t *testing.T) {
	t.Parallel()
	for name, locks := range map[string]bool{"open": false, "locked later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			ada := r.openHubOwner("ada")
			r.postHookEvent("SessionStart", "{}")
			id := r.post(appealFor("s1", "rm -rf build")).ID
			body := `{"permission":false,"reason":"Use make clean.","respondedBy":{"name":"ada"}}`
			resp, b := r.do("POST", schema.At(schema.PathRespond, id), body, "Content-Type", "application/json")
			require.Equal(t, 200, resp.StatusCode, string(b))
			require.Len(t, r.messages(), 1)
			if locks {
				r.expectOK(nil, "POST "+schema.PathLock, `{"locked":true}`, ada.headers()...)
			}
			made := r.newAgentToken(ada, "agent")
			resp, b = r.do("POST", schema.PathEvents, `{"source_app":"demo","session_id":"s1","hook_event_type":"PreToolUse","agent":"claude-code","payload":{}}`,
				"Content-Type", "application/json", "Authorization", "Bearer "+made.Secret,
				control.PreferHeader, control.MinimalReturn, control.AcceptsHeader, control.AcceptMessage)
			require.Equal(t, 200, resp.StatusCode, string(b))
			if locks {
				require.NotContains(t, string(b), "make clean")
				return
			}
			var receipt control.EventReceipt
			require.NoError(t, json.Unmarshal(b, &receipt))
			require.Len(t, receipt.Directive.Messages, 1)
			require.Equal(t, "Message from local user, sent through Hookback. It is not an approval: About the refused call: Use make clean.",
				receipt.Directive.Messages[0].PromptText())
		})
	}
}

// The hook of a refused call can't tell the model why, so a reason becomes a message, if the person
// may send one.
func TestAppeal_ReasonForRefusalBecomesMessage(t *testing.T) {
	t.Parallel()
	r := setup(t)
	ada := r.openHubOwner("ada")
	deny := func(body string, headers ...string) {
		t.Helper()
		id := r.post(appealFor("s1", "rm -rf build")).ID
		resp, b := r.do("POST", schema.At(schema.PathRespond, id), body, append(headers, "Content-Type", "application/json")...)
		require.Equal(t, 200, resp.StatusCode, string(b))
	}
	deny(`{"permission":false}`)
	deny(`{"permission":false}`, ada.headers()...)
	require.Empty(t, r.messages())
	deny(`{"permission":false,"reason":"Use make clean."}`, ada.headers()...)
	list := r.messages()
	require.Len(t, list, 1)
	require.Equal(t, "About the refused call: Use make clean.", list[0].Text)
	require.Equal(t, "ada", list[0].From)
	deny(`{"permission":false,"reason":"And ask first.","holdMs":1000}`, ada.headers()...)
	require.Len(t, r.messages(), 1, "the answer can still be undone")
	r.postHookEvent("SessionEnd", "{}")
	deny(`{"permission":false,"reason":"too late"}`, ada.headers()...)
}
