package agentclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

func TestEvents_ReturnsPages(t *testing.T) {
	t.Parallel()
	r := setupRealHub(t)
	begun := time.Now().Add(-time.Hour)
	for _, kind := range []string{"A", "B", "A", "A"} {
		_, err := r.client.Send(r.ctx, schema.Event{HookEventType: kind, Payload: raw(`{"x": 1}`)})
		require.NoError(t, err)
	}
	q := agentclient.EventQuery{Type: "A", From: begun, Limit: 2}
	var sizes []int
	for {
		page, err := r.client.Events(r.ctx, q)
		require.NoError(t, err)
		sizes = append(sizes, len(page))
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			require.Equal(t, "A", e.HookEventType)
			require.Greater(t, e.ID, q.After)
			q.After = e.ID
		}
	}
	require.Equal(t, []int{2, 1, 0}, sizes)
	all, err := r.client.Events(r.ctx, agentclient.EventQuery{})
	require.NoError(t, err)
	require.Len(t, all, 4)
	none, err := r.client.Events(r.ctx, agentclient.EventQuery{From: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestEvents_ReportsUnusableHub(t *testing.T) {
	t.Parallel()
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"not": "a list"}`))
	}))
	defer foreign.Close()
	down := agentclient.Options{Hubs: []string{"http://127.0.0.1:1"}}
	_, err := newClient(t, down, agentclient.Timings{}).Events(testContext(t), agentclient.EventQuery{})
	require.ErrorIs(t, err, agentclient.ErrUnreachable)
	_, err = newClient(t, agentclient.Options{Hubs: []string{foreign.URL}}, agentclient.Timings{}).Events(testContext(t), agentclient.EventQuery{})
	require.ErrorContains(t, err, "not that of a hub")

	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	_, err = newClient(t, down, agentclient.Timings{}).Events(ctx, agentclient.EventQuery{})
	require.ErrorIs(t, err, context.Canceled)

	r := setupRealHub(t)
	second := newClient(t, agentclient.Options{Hubs: []string{"http://127.0.0.1:1", r.server.URL()}}, agentclient.Timings{})
	_, err = second.Events(r.ctx, agentclient.EventQuery{})
	require.NoError(t, err, "the second address would have answered")
	require.NoError(t, second.Close())
	_, err = second.Events(r.ctx, agentclient.EventQuery{})
	require.ErrorIs(t, err, agentclient.ErrClosed)
}
