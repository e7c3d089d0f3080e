package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/app"
	"github.com/hookback/hookback/server/internal/mcp"
)

// signIn signs in as the hub's owner and opens the hub again: these tests ask and answer from
// one process, which a locked hub refuses as self-approval.
func (r *harness) signIn(name string) http.Header {
	r.t.Helper()
	headers := r.hub.Owner(name)
	var me schema.Me
	r.signedRequest(headers, "POST "+schema.PathLock, `{"locked":false}`, &me)
	require.False(r.t, me.Locked)
	return headers
}

// TestVote_PersonVotesAndCancels checks that the vote is attributed to the person whose
// credentials the client uses.
func TestVote_PersonVotesAndCancels(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	first := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "May I?", "choices": []string{"approve", "deny"}})
	second := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "Which one?", "choices": []string{"blue", "green"}})

	ada := &harness{t: t, hub: r.hub, progress: r.progress, http: r.http}
	ada.ClientSession = ada.connect("", r.signIn("Ada"))
	mine := call[inbox.HitlPage](ada, "list_pending_hitl_requests", map[string]any{"waiting_on_me": true})
	require.Len(t, mine.Requests, 2)
	require.True(t, mine.Requests[0].WaitingOnMe)
	require.Contains(t, ada.callError("vote_on_hitl_request", map[string]any{"request_id": first.RequestID, "choice": "perhaps"}), "wrong_answer")
	require.Contains(t, ada.callError("vote_on_hitl_request", map[string]any{"request_id": first.RequestID, "choice": "approve", "revision": 99}), "stale")
	voted := call[inbox.HitlRequest](ada, "vote_on_hitl_request", map[string]any{"request_id": first.RequestID, "choice": "approve", "comment": "go on"})
	require.Equal(t, schema.Approve, voted.Outcome)
	require.Equal(t, "Ada", voted.DecidedBy)
	require.Contains(t, ada.callError("vote_on_hitl_request", map[string]any{"request_id": first.RequestID, "choice": "deny"}), "decided")
	by := r.event(first.RequestID).HumanInTheLoopStatus.RespondedBy
	require.True(t, by.Verified)
	require.Equal(t, "session", by.Via)

	cancelled := call[inbox.HitlRequest](ada, "cancel_hitl_request", map[string]any{"request_id": second.RequestID, "reason": "superseded"})
	require.Equal(t, schema.Cancelled, cancelled.Outcome)
	require.Equal(t, "superseded", cancelled.CancellationReason)
	ticket := call[mcp.Ticket](r, "await_hitl_request", map[string]any{"request_id": second.RequestID, "secret": second.Secret})
	require.Equal(t, schema.Cancelled, ticket.Outcome)
}

func TestVote_TextWithAllowOther(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	closed := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "Which one?", "choices": []string{"blue", "green"}})
	open := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "Which color?", "choices": []string{"blue", "green"}, "allow_other": true})
	require.True(t, open.AllowOther)

	ada := &harness{t: t, hub: r.hub, progress: r.progress, http: r.http}
	ada.ClientSession = ada.connect("", r.signIn("Ada"))
	require.Contains(t, ada.callError("vote_on_hitl_request", map[string]any{"request_id": closed.RequestID, "choice": "red"}), "wrong_answer")
	voted := call[inbox.HitlRequest](ada, "vote_on_hitl_request", map[string]any{"request_id": open.RequestID, "choice": "red"})
	require.Equal(t, schema.Answered, voted.Outcome)
	require.Equal(t, "red", voted.Response)
}

// TestVote_CannotReplacePasskey: if a passkey is required, the person must answer in the
// dashboard.
func TestVote_CannotReplacePasskey(t *testing.T) {
	t.Parallel()
	r := setup(t, "", func(c *app.Config) { c.Passkeys = schema.PasskeyForHigh })
	body := `{"source_app":"a","session_id":"s","hook_event_type":"Ask","payload":{},"humanInTheLoop":{"question":"Drop it?","type":"permission","risk":"high"}}`
	res, err := r.http.Post(r.hub.URL()+schema.PathEvents, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var question schema.Event
	require.NoError(t, json.NewDecoder(res.Body).Decode(&question))

	ada := &harness{t: t, hub: r.hub, progress: r.progress, http: r.http}
	ada.ClientSession = ada.connect("", r.signIn("Ada"))
	vote := func(choice string) map[string]any { return map[string]any{"request_id": question.ID, "choice": choice} }
	require.Contains(t, ada.callError("vote_on_hitl_request", vote("approve")), "proof_required")
	denied := call[inbox.HitlRequest](ada, "vote_on_hitl_request", vote("deny"))
	require.Equal(t, schema.Deny, denied.Outcome)
}
