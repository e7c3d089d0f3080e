package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
	"github.com/hookback/hookback/server/internal/traces"
)

// A collector that fails does not make the hub unready, but readiness and metrics report it.
func TestReady_NamesPausedTraces(t *testing.T) {
	t.Parallel()
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	endpoint, err := traces.NewEndpoint(collector.URL, "", nil)
	require.NoError(t, err)
	now := time.Now()
	db := storetest.Open(t, storetest.Options{Fast: true})
	t.Cleanup(func() { _ = db.Close() })
	sender := traces.New(traces.Config{Store: db, Feed: feed.New(0, 64, 1<<20), Endpoint: endpoint, Clock: func() time.Time { return now }})
	r := setup(t, func(cfg *Config) { cfg.Traces, cfg.Store = sender, db })
	resp, b := r.do("GET", schema.PathReady, "")
	require.Equal(t, 200, resp.StatusCode)
	require.JSONEq(t, `{"status":"ok","version":"test"}`, string(b))
	require.Contains(t, r.metrics(), "hookback_traces_paused 0")

	_, err = sender.Step(t.Context()) // begins at the end of the log
	require.NoError(t, err)
	for _, typ := range []string{"UserPromptSubmit", "Stop"} {
		_, err = db.Append(t.Context(), &store.EventDraft{Event: store.Event{
			UID: uuid.Must(uuid.NewV7()).String(), App: "app", Session: "s", Type: typ, Envelope: []byte(`"source_app":"app"`), Payload: []byte(`{}`),
		}})
		require.NoError(t, err)
	}
	for range 5 {
		_, err = sender.Step(t.Context())
		require.ErrorContains(t, err, "404")
		now = now.Add(time.Hour)
	}
	resp, b = r.do("GET", schema.PathReady, "")
	require.Equal(t, 200, resp.StatusCode)
	require.JSONEq(t, `{"status":"ok","version":"test","detail":"traces are not sent: 5 attempts in a row failed"}`, string(b))
	metrics := r.metrics()
	require.Contains(t, metrics, "\nhookback_traces_paused 1\n")
	require.Contains(t, metrics, "hookback_trace_requests_failed_total 5")
	require.Contains(t, metrics, `hookback_trace_spans_total{result="sent"} 0`)
}
