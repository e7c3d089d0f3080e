package mcp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
	"github.com/hookback/hookback/server/internal/app"
	"github.com/hookback/hookback/server/internal/mcp"
)

// capturedOutput collects the hub's startup output.
type capturedOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (g *capturedOutput) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Write(p)
}

func (g *capturedOutput) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.String()
}

func captureOutput(g *capturedOutput) hubtest.Option { return func(c *app.Config) { c.Stdout = g } }

// signIn signs in as the hub's owner with the printed link.
func (r *harness) signIn(g *capturedOutput, name string) http.Header {
	r.t.Helper()
	link := regexp.MustCompile(`#sign-in=(\S+)`)
	require.Eventually(r.t, func() bool { return link.MatchString(g.String()) }, waitLimit, pollInterval)
	body := `{"code":"` + link.FindStringSubmatch(g.String())[1] + `","name":"` + name + `"}`
	res, err := r.http.Post(r.hub.URL()+schema.PathSignIn, "application/json", strings.NewReader(body))
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	var in schema.SignInResult
	require.NoError(r.t, json.NewDecoder(res.Body).Decode(&in))
	require.NotEmpty(r.t, in.Key)
	header := http.Header{schema.KeyHeader: {in.Key}}
	for _, c := range res.Cookies() {
		header.Add("Cookie", c.Name+"="+c.Value)
	}
	return header
}

// TestVote_PersonVotesAndCancels checks that the vote is attributed to the person whose
// credentials the client uses.
func TestVote_PersonVotesAndCancels(t *testing.T) {
	t.Parallel()
	var g capturedOutput
	r := setup(t, "", captureOutput(&g))
	first := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "May I?", "choices": []string{"approve", "deny"}})
	second := call[mcp.Ticket](r, "ask_human", map[string]any{"question": "Which one?", "choices": []string{"blue", "green"}})

	ada := &harness{t: t, hub: r.hub, progress: r.progress, http: r.http}
	ada.ClientSession = ada.connect("", r.signIn(&g, "Ada"))
	mine := call[schema.HitlPage](ada, "list_pending_hitl_requests", map[string]any{"waiting_on_me": true})
	require.Len(t, mine.Requests, 2)
	require.True(t, mine.Requests[0].WaitingOnMe)
	require.Contains(t, ada.callError("vote_on_hitl_request", map[string]any{"request_id": first.RequestID, "choice": "perhaps"}), "wrong_answer")
	require.Contains(t, ada.callError("vote_on_hitl_request", map[string]any{"request_id": first.RequestID, "choice": "approve", "revision": 99}), "stale")
	voted := call[schema.HitlRequest](ada, "vote_on_hitl_request", map[string]any{"request_id": first.RequestID, "choice": "approve", "comment": "go on"})
	require.Equal(t, schema.Approve, voted.Outcome)
	require.Equal(t, "Ada", voted.DecidedBy)
	require.Contains(t, ada.callError("vote_on_hitl_request", map[string]any{"request_id": first.RequestID, "choice": "deny"}), "decided")
	by := r.event(first.RequestID).HumanInTheLoopStatus.RespondedBy
	require.True(t, by.Verified)
	require.Equal(t, "session", by.Via)

	cancelled := call[schema.HitlRequest](ada, "cancel_hitl_request", map[string]any{"request_id": second.RequestID, "reason": "superseded"})
	require.Equal(t, schema.Cancelled, cancelled.Outcome)
	require.Equal(t, "superseded", cancelled.CancellationReason)
	ticket := call[mcp.Ticket](r, "await_hitl_request", map[string]any{"request_id": second.RequestID, "secret": second.Secret})
	require.Equal(t, schema.Cancelled, ticket.Outcome)
}

// TestVote_CannotReplacePasskey: if a passkey is required, the person must answer in the
// dashboard.
func TestVote_CannotReplacePasskey(t *testing.T) {
	t.Parallel()
	var g capturedOutput
	r := setup(t, "", captureOutput(&g), func(c *app.Config) { c.Passkeys = schema.PasskeyForHigh })
	body := `{"source_app":"a","session_id":"s","hook_event_type":"Ask","payload":{},"humanInTheLoop":{"question":"Drop it?","type":"permission","risk":"high"}}`
	res, err := r.http.Post(r.hub.URL()+schema.PathEvents, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var question schema.Event
	require.NoError(t, json.NewDecoder(res.Body).Decode(&question))

	ada := &harness{t: t, hub: r.hub, progress: r.progress, http: r.http}
	ada.ClientSession = ada.connect("", r.signIn(&g, "Ada"))
	vote := func(choice string) map[string]any { return map[string]any{"request_id": question.ID, "choice": choice} }
	require.Contains(t, ada.callError("vote_on_hitl_request", vote("approve")), "proof_required")
	denied := call[schema.HitlRequest](ada, "vote_on_hitl_request", vote("deny"))
	require.Equal(t, schema.Deny, denied.Outcome)
}
