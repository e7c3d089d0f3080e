package sessions

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/hookback/hookback/server/internal/storetest"
)

func TestMain(m *testing.M) {
	if runProjectorCrashChild() { // this process is a child that a test kills
		return
	}
	goleak.VerifyTestMain(m)
}

// waitLimit bounds how long a test waits for a condition. It only ends a test that would
// hang, so it is generous.
const waitLimit = time.Minute

const (
	plainEvent       = `{"source_app":"a","session_id":"s","hook_event_type":"Stop","payload":{}}`
	pullQuestion     = `{"question":"May I?","type":"permission"}`
	callbackQuestion = `{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:50123/secret"}`
)

func approval() *schema.Response { v := true; return &schema.Response{Permission: &v} }
func denial() *schema.Response   { v := false; return &schema.Response{Permission: &v} }

// testHub is a service and a hub over a real store.
type testHub struct {
	*Service
	Store store.Store
	hub   *hub.Hub
	t     testing.TB
	path  string
}

// newHub returns a service and a hub over db. Only the clock of cfg is used.
func newHub(db store.Store, cfg Config) *testHub {
	f := feed.New(db.Head(), 64, 1<<20)
	h := &testHub{Store: db, hub: hub.New(hub.Config{Store: db, Feed: f, Clock: cfg.Clock})}
	cfg.Store, cfg.Feed, cfg.Executions = db, f, h.hub
	h.Service = New(cfg)
	return h
}

func newTestHub(t *testing.T, change ...func(*Config)) *testHub {
	t.Helper()
	return openTestHub(t, storetest.NewSQLiteFile(t), change...)
}

func openTestHub(t *testing.T, path string, change ...func(*Config)) *testHub {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReserveFileBytes: -1, Synchronous: "NORMAL"})
	require.NoError(t, err)
	var cfg Config
	for _, fn := range change {
		fn(&cfg)
	}
	h := newHub(s, cfg)
	h.t, h.path = t, path
	t.Cleanup(func() { _ = s.Close() })
	return h
}

func (h *testHub) post(body string) hub.StoredEvent {
	h.t.Helper()
	saved, err := h.hub.Ingest(h.t.Context(), []byte(body), hub.Caller{})
	require.NoError(h.t, err)
	return saved
}

// ask posts a question and returns its id and secret.
func (h *testHub) ask(question string) (schema.EventID, string) {
	h.t.Helper()
	saved := h.post(`{"humanInTheLoop":` + question + "," + plainEvent[1:])
	h.hub.ResponseSent(saved.ID)
	return saved.ID, decodeEvent(h.t, saved.JSON).RequestSecret
}

func decodeEvent(t testing.TB, b []byte) (e schema.Event) {
	t.Helper()
	require.NoError(t, json.Unmarshal(b, &e), string(b))
	return e
}

func (h *testHub) status(id schema.EventID) (st schema.Status) {
	h.t.Helper()
	q, err := h.Store.Question(h.t.Context(), id)
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(q.Status, &st))
	return st
}

// awaitTimeout runs the hub's deadlines until the question timed out.
func (h *testHub) awaitTimeout(id schema.EventID) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = h.hub.Run(ctx) }()
	defer func() { cancel(); <-done }()
	require.Eventually(h.t, func() bool { return h.status(id).Status == schema.TimedOut }, waitLimit, time.Millisecond)
}

// appendEvents stores n events with the given payload through the store, which skips the
// cost of scanning and redacting each of them.
func (h *testHub) appendEvents(n int, payload string) {
	h.t.Helper()
	for range n {
		_, err := h.Store.Append(h.t.Context(), &store.EventDraft{Event: store.Event{
			UID: uuid.Must(uuid.NewV7()).String(), App: "a", Session: "s", Type: "Stop", ReceivedAt: h.Clock(),
			Envelope: []byte(`"source_app":"a","session_id":"s","hook_event_type":"Stop"`), Payload: []byte(payload),
		}})
		require.NoError(h.t, err)
	}
}
