package sqlite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestMain(m *testing.M) {
	if runCrashChild() { // this process is the child of a crash test
		return
	}
	goleak.VerifyTestMain(m)
}

// clockStart is the initial time of fakeClock.
var clockStart = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// fakeClock is a clock that moves only with advance.
type fakeClock struct{ elapsed atomic.Int64 }

func (c *fakeClock) now() time.Time          { return clockStart.Add(time.Duration(c.elapsed.Load())) }
func (c *fakeClock) advance(d time.Duration) { c.elapsed.Add(int64(d)) }

// testStore is a store with its fake clock and the rows that it published.
type testStore struct {
	*engine
	clock *fakeClock
	cfg   Config

	mu        sync.Mutex
	published []store.LogRow
}

func (b *testStore) publishedRows() []store.LogRow {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]store.LogRow(nil), b.published...)
}

func newTestStore(t testing.TB, change ...func(*Config)) *testStore {
	t.Helper()
	b := &testStore{clock: &fakeClock{}}
	b.cfg = Config{
		Path: t.TempDir() + "/hub.db", ReserveFileBytes: -1, Clock: b.clock.now,
		Disk: func(string) (Disk, error) { return Disk{Free: 1 << 40, Total: 2 << 40}, nil },
		Publish: func(rows []store.LogRow) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.published = append(b.published, rows...)
		},
	}
	for _, c := range change {
		c(&b.cfg)
	}
	b.open(t)
	return b
}

func (b *testStore) open(t testing.TB) {
	t.Helper()
	s, err := openEngine(context.Background(), b.cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b.engine = s
}

// reopen restarts the hub.
func (b *testStore) reopen(t testing.TB) {
	t.Helper()
	require.NoError(t, b.Close())
	b.open(t)
}

// newDraft returns a plain event.
func newDraft(app, session, typ, tool string) *store.EventDraft {
	return &store.EventDraft{Event: store.Event{
		UID: uuid.Must(uuid.NewV7()).String(), App: app, Session: session, Type: typ, Tool: tool, Timestamp: 1_758_000_000_000,
		Envelope: fmt.Appendf(nil, `"source_app":%q,"session_id":%q,"hook_event_type":%q`, app, session, typ),
		Payload:  []byte(`{"command":"go test ./..."}`),
	}}
}

// newQuestionDraft returns an event with a question; a zero deadline means none.
func newQuestionDraft(session string, deadline time.Time) *store.EventDraft {
	d := newDraft("app", session, "PermissionRequest", "Bash")
	d.Question = []byte(`{"question":"May I?","type":"permission"}`)
	d.Status = []byte(`{"status":"pending","revision":1}`)
	d.NewQuestion = &store.NewQuestion{URL: "ws://127.0.0.1:9/secret", ListenerKey: "key", Protocol: 2, Deadline: deadline, Text: "May I?", RequesterProcess: []byte(`{"pid":1}`),
		BodyHash: []byte("body"), AskHash: []byte("ask"), SecretHash: []byte("secret")}
	return d
}

func (b *testStore) append(t testing.TB, d *store.EventDraft) *store.Event {
	t.Helper()
	r, err := b.Append(context.Background(), d)
	require.NoError(t, err)
	return r.Event
}

func (b *testStore) question(t testing.TB, id schema.EventID) *store.Question {
	t.Helper()
	q, err := b.Question(context.Background(), id)
	require.NoError(t, err)
	return q
}

// answerChange returns the change that answers q and queues the delivery.
func answerChange(q *store.Question) store.Change {
	return store.Change{
		Event: &q.Event, Version: q.Version, State: schema.Responded, Ends: true,
		Status: []byte(`{"status":"responded","revision":2}`), Answer: []byte(`{"permission":true}`),
		Delivery: &store.Delivery{ID: q.ID, AnswerID: "a1", State: schema.Queued, Due: clockStart, Until: clockStart.Add(time.Hour)},
	}
}

func (b *testStore) answer(t testing.TB, id schema.EventID) {
	t.Helper()
	require.NoError(t, b.Apply(context.Background(), answerChange(b.question(t, id))))
}

func eventIDs(events []*store.Event) []schema.EventID {
	list := make([]schema.EventID, len(events))
	for i, e := range events {
		list[i] = e.ID
	}
	return list
}
