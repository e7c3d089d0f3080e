package agentclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

func TestReplayPolicy_AsksHub(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	_, err := r.client.Send(r.ctx, schema.Event{HookEventType: "PreToolUse", Payload: raw(`{"tool_name": "Bash", "tool_input": {"command": "ls"}}`)})
	require.NoError(t, err)
	got, err := r.client.ReplayPolicy(r.ctx, history.ReplayDraft{Policy: `{"rules": [{"tool": "Bash", "then": "ask"}]}`})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Asked)
	_, err = r.client.ReplayPolicy(r.ctx, history.ReplayDraft{Policy: `{"rules": [{}]}`})
	require.ErrorIs(t, err, schema.ErrNoPolicy)
}

func TestLedger_ReportsUnusableHub(t *testing.T) {
	t.Parallel()
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"not": "a list"}`))
	}))
	defer foreign.Close()
	down := agentclient.Options{Hubs: []string{"http://127.0.0.1:1"}}
	_, err := newClient(t, down, agentclient.Timings{}).Ledger(testContext(t), 0)
	require.ErrorIs(t, err, agentclient.ErrUnreachable)
	_, err = newClient(t, agentclient.Options{Hubs: []string{foreign.URL}}, agentclient.Timings{}).Ledger(testContext(t), 0)
	require.ErrorContains(t, err, "not that of a hub")

	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	_, err = newClient(t, down, agentclient.Timings{}).Ledger(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)

	r := setupRealHub(t)
	second := newClient(t, agentclient.Options{Hubs: []string{"http://127.0.0.1:1", r.server.URL()}}, agentclient.Timings{})
	_, err = second.Ledger(r.ctx, 0)
	require.NoError(t, err, "the second address would have answered")
	require.NoError(t, second.Close())
	_, err = second.Ledger(r.ctx, 0)
	require.ErrorIs(t, err, agentclient.ErrClosed)
}
