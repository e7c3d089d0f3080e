package agentclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// referenceFixture is a client of the version 1 reference server, and its browser.
type referenceFixture struct {
	fixture
	server *fakehub.ReferenceServer
}

func setupReference(t *testing.T, p agentclient.Timings) *referenceFixture {
	t.Helper()
	server, err := fakehub.StartReferenceServer()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	r := &referenceFixture{server: server}
	r.ctx = testContext(t)
	r.client = newClient(t, agentclient.Options{Hubs: []string{server.URL()}}, p)
	return r
}

// click answers the n-th event as the reference server's page does, with an echo of the
// event.
func (r *referenceFixture) click(t *testing.T, n int, answer map[string]any) {
	t.Helper()
	event, err := r.server.Event(r.ctx, n)
	require.NoError(t, err)
	if _, forged := answer["hookEvent"]; !forged {
		answer["hookEvent"] = event
	}
	body, err := json.Marshal(answer)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(r.ctx, 30*time.Second)
	defer cancel()
	path := schema.At(schema.PathRespond, schema.EventID(n))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.server.URL()+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
}

func TestReferenceServer_AnswersEveryKind(t *testing.T) {
	t.Parallel()
	r := setupReference(t, agentclient.Timings{PullDelay: time.Millisecond}) // it answers a pull with 200 and plain text
	for n, test := range []struct {
		ask    agentclient.Request
		answer map[string]any
		want   agentclient.Decision
	}{
		{
			agentclient.Request{Question: "Go?"},
			map[string]any{"permission": true},
			agentclient.Decision{Outcome: schema.Approve, Guidance: "A person approved this."},
		},
		{
			agentclient.Request{Question: "Go?"},
			map[string]any{"permission": false},
			agentclient.Decision{Outcome: schema.Deny},
		},
		{
			agentclient.Request{Question: "Name?", Kind: schema.FreeText},
			map[string]any{"response": "snake_case"},
			agentclient.Decision{Outcome: schema.Answered, Text: "snake_case"},
		},
		{
			agentclient.Request{Question: "Which?", Choices: []string{"Jest", "Mocha"}},
			map[string]any{"choice": "Mocha", "permission": true, "response": "all three, as in the seed's example"},
			agentclient.Decision{Outcome: "Mocha", Choice: "Mocha"},
		},
		{ // the server does not check choices, so the client must
			agentclient.Request{Question: "Which?", Choices: []string{"Jest", "Mocha"}},
			map[string]any{"choice": "Karma"},
			agentclient.Decision{Outcome: agentclient.Malformed, Source: agentclient.BadAnswer},
		},
		{ // the echoed hookEvent can be missing or wrong, so the path identifies the question
			agentclient.Request{Question: "Go?"},
			map[string]any{"permission": true, "hookEvent": map[string]any{"id": 999, "source_app": 7}},
			agentclient.Decision{Outcome: schema.Approve},
		},
	} {
		known := make(chan struct{})
		test.ask.OnWaiting = func(agentclient.WaitStatus) { close(known) }
		got := r.ask(r.ctx, test.ask)
		<-known
		r.click(t, n+1, test.answer)
		end := r.waitForResult(t, got)
		if test.want.Outcome == agentclient.Malformed {
			require.ErrorIs(t, end.err, agentclient.ErrMalformed, "the caller of a choice needs one")
		} else {
			require.NoError(t, end.err)
		}
		require.Equal(t, test.want.Outcome, end.Outcome, n)
		require.Equal(t, test.want.Text, end.Text, n)
		require.Equal(t, test.want.Choice, end.Choice, n)
		require.Equal(t, test.want.Outcome == schema.Approve, end.Approved(), n)
		require.Equal(t, schema.EventID(n+1), end.EventID, n)
		if test.want.Source == "" {
			test.want.Source = schema.ByHuman
		}
		require.Equal(t, test.want.Source, end.Source, n)
	}
}

// Version 1 agents match answers by permission_type and confuse two pending questions.
func TestReferenceServer_KeepsEqualQuestionsApart(t *testing.T) {
	t.Parallel()
	r := setupReference(t, agentclient.Timings{})
	event := schema.Event{Payload: raw(`{"agent_name":"alice","permission_type":"delete_files"}`)}
	first := r.ask(r.ctx, agentclient.Request{Question: "Delete a?", Event: event})
	_, err := r.server.Event(r.ctx, 1)
	require.NoError(t, err)
	second := r.ask(r.ctx, agentclient.Request{Question: "Delete b?", Event: event})
	r.click(t, 2, map[string]any{"permission": false})
	r.click(t, 1, map[string]any{"permission": true})
	require.True(t, r.waitForResult(t, first).Approved())
	require.False(t, r.waitForResult(t, second).Approved())
}

func TestReferenceServer_CannotWithdraw(t *testing.T) {
	t.Parallel()
	r := setupReference(t, agentclient.Timings{})
	sent, err := r.client.Send(r.ctx, schema.Event{HookEventType: "Stop"})
	require.NoError(t, err)
	require.Equal(t, schema.EventID(1), sent.ID)
	require.ErrorIs(t, r.client.Withdraw(r.ctx, sent, ""), schema.ErrNoRoute)
}

func TestReferenceServer_CancelReturnsImmediately(t *testing.T) {
	t.Parallel()
	r := setupReference(t, agentclient.Timings{WithdrawTimeout: time.Hour})
	ctx, cancel := context.WithCancel(r.ctx)
	end := r.waitForResult(t, r.ask(ctx, agentclient.Request{Question: "Go?", OnWaiting: func(agentclient.WaitStatus) { cancel() }}))
	require.ErrorIs(t, end.err, context.Canceled)
	require.Equal(t, agentclient.Unreachable, end.Outcome, "this server does not support withdrawal")
}
