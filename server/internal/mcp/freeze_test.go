package mcp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/mcp"
)

// freeze stops all agents.
func (r *harness) freeze() (f control.Freeze) {
	r.t.Helper()
	res, err := r.http.Post(r.hub.URL()+control.PathFreezes, "application/json", bytes.NewBufferString(`{"scope":"all"}`))
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(r.t, http.StatusCreated, res.StatusCode)
	require.NoError(r.t, json.NewDecoder(res.Body).Decode(&f))
	return f
}

func TestVote_FrozenApprovesNothing(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	first := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "May I?", "choices": []string{"approve", "deny"}})
	second := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "And this?", "choices": []string{"approve", "deny"}})
	f := r.freeze()
	signedIn := r.signIn("Ada")
	ada := &harness{t: t, hub: r.hub, progress: r.progress, http: r.http}
	ada.ClientSession = ada.connect("", signedIn)
	vote := func(ticket mcp.Ticket, choice string) map[string]any {
		return map[string]any{"request_id": ticket.RequestID, "choice": choice}
	}
	require.Contains(t, ada.callError("vote_on_hitl_request", vote(first, "approve")), "frozen")
	require.Equal(t, schema.Pending, r.event(first.RequestID).HumanInTheLoopStatus.Status)
	require.Equal(t, schema.Deny, call[inbox.HitlRequest](ada, "vote_on_hitl_request", vote(second, "deny")).Outcome)
	r.signedRequest(signedIn, "DELETE "+control.PathFreezes+"/"+strconv.FormatInt(f.ID, 10), "", &f)
	require.Equal(t, schema.Approve, call[inbox.HitlRequest](ada, "vote_on_hitl_request", vote(first, "approve")).Outcome)
}

// A freeze denies the call that waits for request_approval, and the model reads no reason of the
// freeze.
func TestRequestApproval_FreezeDenies(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	go func() {
		r.pending()
		r.freeze()
	}()
	verdict, _ := r.requestApproval(map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "make deploy"}}, "")
	require.Equal(t, "deny", verdict["behavior"])
	require.Contains(t, verdict["message"], "froze all agents")
}
