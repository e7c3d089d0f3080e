package mcp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/mcp"
)

// asToken returns a client with a new token that the person with these headers creates.
func (r *harness) asToken(who http.Header, query, draft string) *harness {
	r.t.Helper()
	return r.withSecret(query, r.createToken(who, draft).Secret)
}

// follow signs in with a new person's link and returns the headers of their browser.
func (r *harness) follow(p schema.Person) http.Header {
	r.t.Helper()
	_, code, _ := strings.Cut(p.SignInURL, "#sign-in=")
	return r.hub.SignIn(schema.SignInRequest{Code: code})
}

func (r *harness) withSecret(query, secret string) *harness {
	client := &harness{t: r.t, hub: r.hub, progress: r.progress, http: r.http}
	client.ClientSession = client.connect(query, http.Header{"Authorization": {"Bearer " + secret}})
	return client
}

func (r *harness) createToken(ada http.Header, draft string) (made schema.Token) {
	r.t.Helper()
	r.signedRequest(ada, "POST "+schema.PathTokens, draft, &made)
	return made
}

// signedRequest sends a request with the headers of a signed-in person.
func (r *harness) signedRequest(who http.Header, route, body string, v any) {
	r.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.hub.URL()+path, bytes.NewBufferString(body))
	require.NoError(r.t, err)
	req.Header = who.Clone()
	req.Header.Set("Content-Type", "application/json")
	res, err := r.http.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(r.t, http.StatusOK, res.StatusCode)
	require.NoError(r.t, json.NewDecoder(res.Body).Decode(v))
}

// TestTokens_AgentCannotVote covers an open and a locked hub, and a revoked token.
func TestTokens_AgentCannotVote(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	ada := r.signIn("Ada")
	token := r.createToken(ada, `{"name":"planner"}`)
	agent := r.withSecret("", token.Secret)
	ticket := call[mcp.Ticket](agent, "ask_human", map[string]any{"question": "May I?", "choices": []string{"approve", "deny"}})
	require.Equal(t, "planner", r.event(ticket.RequestID).SourceApp)
	vote := map[string]any{"request_id": ticket.RequestID, "choice": "approve"}
	for _, locked := range []string{"false", "true"} {
		var me schema.Me
		r.signedRequest(ada, "POST "+schema.PathLock, `{"locked":`+locked+`}`, &me)
		require.Contains(t, agent.callError("vote_on_hitl_request", vote), "not_allowed")
		require.Contains(t, agent.callError("cancel_hitl_request", map[string]any{"request_id": ticket.RequestID}), "not_allowed")
		require.Contains(t, r.callError("vote_on_hitl_request", vote), "sign_in", "unauthenticated clients cannot vote either")
		require.Contains(t, r.callError("cancel_hitl_request", map[string]any{"request_id": ticket.RequestID}), "sign_in")
	}
	require.Equal(t, schema.Pending, r.event(ticket.RequestID).HumanInTheLoopStatus.Status)
	var left []schema.Token
	r.signedRequest(ada, "DELETE "+schema.PathTokens+"/"+token.ID, "", &left)
	_, err := agent.ListTools(t.Context(), nil)
	require.Error(t, err, "the token is revoked")
	require.Equal(t, schema.Pending, r.event(ticket.RequestID).HumanInTheLoopStatus.Status)
}

// TestTokens_PersonVotesAsThemselves also checks that the token cannot vote on its own
// question, nor after its person became a viewer.
func TestTokens_PersonVotesAsThemselves(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	ada := r.signIn("Ada")
	var grace schema.Person
	r.signedRequest(ada, "POST "+schema.PathPeople, `{"name":"Grace","role":"admin"}`, &grace)
	graceClient := r.asToken(r.follow(grace), "", `{"name":"laptop","person":"Grace"}`)
	ask := map[string]any{"question": "May I?", "choices": []string{"approve", "deny"}}
	own := call[mcp.Ticket](graceClient, "ask_human", ask)
	require.Contains(t, graceClient.callError("vote_on_hitl_request", map[string]any{"request_id": own.RequestID, "choice": "approve"}), "self_approval")
	others := call[mcp.Ticket](r, "ask_human", ask)
	voted := call[inbox.HitlRequest](graceClient, "vote_on_hitl_request", map[string]any{"request_id": others.RequestID, "choice": "approve"})
	require.Equal(t, "Grace", voted.DecidedBy)
	require.Equal(t, "token", r.event(others.RequestID).HumanInTheLoopStatus.RespondedBy.Via)

	r.signedRequest(ada, "POST "+schema.PathPeople+"/Grace", `{"role":"viewer"}`, &grace)
	third := call[mcp.Ticket](r, "ask_human", ask)
	for tool, arguments := range map[string]any{
		"vote_on_hitl_request": map[string]any{"request_id": third.RequestID, "choice": "approve"},
		"cancel_hitl_request":  map[string]any{"request_id": third.RequestID},
		"ask_human":            ask,
	} {
		_, err := graceClient.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		require.ErrorContains(t, err, "Forbidden", "the route refuses viewers, as POST /events does")
	}
	require.Equal(t, schema.Pending, r.event(third.RequestID).HumanInTheLoopStatus.Status)
}

// TestTokens_BoundTokenReadsOnlyItsApps covers reading by id, listing and searching.
func TestTokens_BoundTokenReadsOnlyItsApps(t *testing.T) {
	t.Parallel()
	r := setup(t, "?app=bank")
	ada := r.signIn("Ada")
	agent := r.asToken(ada, "", `{"name":"planner","apps":["planner"]}`)
	foreign := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "Which account?"})
	own := call[mcp.Ticket](agent, "ask_human", map[string]any{"question": "Which day?"})
	for _, tool := range []string{"get_hitl_request", "await_hitl_request", "cancel_hitl_request"} {
		arguments := map[string]any{"request_id": foreign.RequestID}
		if tool == "cancel_hitl_request" {
			arguments["secret"] = own.Secret
		}
		require.Contains(t, agent.callError(tool, arguments), "not_allowed", tool)
	}
	page := call[inbox.HitlPage](agent, "list_pending_hitl_requests", map[string]any{})
	require.Len(t, page.Requests, 1)
	require.Equal(t, own.RequestID, page.Requests[0].RequestID)
	require.Len(t, call[mcp.SearchPage](agent, "search_events", map[string]any{}).Events, 1)
	require.Len(t, call[mcp.SearchPage](r, "search_events", map[string]any{}).Events, 2)
	call[inbox.HitlRequest](agent, "get_hitl_request", map[string]any{"request_id": own.RequestID})
	call[inbox.HitlRequest](agent, "cancel_hitl_request", map[string]any{"request_id": own.RequestID, "secret": own.Secret})
}
