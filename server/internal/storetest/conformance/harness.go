package conformance

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// ClockStart is the initial time of a Clock.
var ClockStart = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// Clock is a clock that moves only with Advance.
type Clock struct{ elapsed atomic.Int64 }

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return ClockStart.Add(time.Duration(c.elapsed.Load())) }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.elapsed.Add(int64(d)) }

// Harness is a store with its fake clock and the rows that it published.
type Harness struct {
	store.Store
	Clock    *Clock
	database Database

	mu        sync.Mutex
	published []store.LogRow
}

// NewHarness opens a database. The test closes it when it ends.
func NewHarness(t testing.TB, database Database) *Harness {
	t.Helper()
	b := &Harness{Clock: &Clock{}, database: database}
	b.Open(t)
	return b
}

// Open opens the database again after Close.
func (b *Harness) Open(t testing.TB) {
	t.Helper()
	s, err := b.database(b.Clock.Now)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	s.SetPublish(b.record)
	b.Store = s
}

// Reopen restarts the hub.
func (b *Harness) Reopen(t testing.TB) {
	t.Helper()
	require.NoError(t, b.Store.Close())
	b.Open(t)
}

func (b *Harness) record(rows []store.LogRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.published = append(b.published, rows...)
}

// Published returns the rows that were published since the harness was created.
func (b *Harness) Published() []store.LogRow {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]store.LogRow(nil), b.published...)
}

// Block makes the store wait in the publication of its first row, so that later writes
// queue behind it. release ends the wait.
func (b *Harness) Block(t testing.TB) (release func()) {
	t.Helper()
	reached, free := make(chan struct{}), make(chan struct{})
	var first sync.Once
	b.Store.SetPublish(func(rows []store.LogRow) {
		first.Do(func() { close(reached); <-free })
		b.record(rows)
	})
	release = sync.OnceFunc(func() { close(free) })
	t.Cleanup(release)
	go func() { _, _ = b.Store.Append(context.Background(), NewDraft("app", "held", "Stop", "")) }()
	<-reached
	return release
}

// NewDraft returns a plain event.
func NewDraft(app, session, typ, tool string) *store.EventDraft {
	return &store.EventDraft{Event: store.Event{
		UID: uuid.Must(uuid.NewV7()).String(), App: app, Session: session, Type: typ, Tool: tool, Timestamp: 1_758_000_000_000,
		Envelope: fmt.Appendf(nil, `"source_app":%q,"session_id":%q,"hook_event_type":%q`, app, session, typ),
		Payload:  []byte(`{"command":"go test ./..."}`),
	}}
}

// NewQuestionDraft returns an event with a question; a zero deadline means none.
func NewQuestionDraft(session string, deadline time.Time) *store.EventDraft {
	d := NewDraft("app", session, "PermissionRequest", "Bash")
	d.Question = []byte(`{"question":"May I?","type":"permission"}`)
	d.Status = []byte(`{"status":"pending","revision":1}`)
	d.NewQuestion = &store.NewQuestion{URL: "ws://127.0.0.1:9/secret", ListenerKey: "key", Protocol: 2, Deadline: deadline, Text: "May I?", RequesterProcess: []byte(`{"pid":1}`),
		BodyHash: []byte("body"), AskHash: []byte("ask"), SecretHash: []byte("secret")}
	return d
}

// MustAppend appends an event.
func (b *Harness) MustAppend(t testing.TB, d *store.EventDraft) *store.Event {
	t.Helper()
	r, err := b.Store.Append(context.Background(), d)
	require.NoError(t, err)
	return r.Event
}

// AppendMany appends n events in groups that may share commits.
func (b *Harness) AppendMany(t testing.TB, n int, draft func(i int) *store.EventDraft) {
	t.Helper()
	const group = 512
	for from := 0; from < n; from += group {
		drafts := make([]*store.EventDraft, min(group, n-from))
		for i := range drafts {
			drafts[i] = draft(from + i)
		}
		for _, r := range b.Store.AppendAll(context.Background(), drafts) {
			require.NoError(t, r.Err)
		}
	}
}

// MustQuestion reads a question.
func (b *Harness) MustQuestion(t testing.TB, id schema.EventID) *store.Question {
	t.Helper()
	q, err := b.Store.Question(context.Background(), id)
	require.NoError(t, err)
	return q
}

// AnswerChange returns the change that answers q and queues the delivery.
func AnswerChange(q *store.Question) store.Change {
	return store.Change{
		Event: &q.Event, Version: q.Version, State: schema.Responded, Ends: true,
		Status: []byte(`{"status":"responded","revision":2}`), Answer: []byte(`{"permission":true}`),
		Delivery: &store.Delivery{ID: q.ID, AnswerID: "a1", State: schema.Queued, Due: ClockStart, Until: ClockStart.Add(time.Hour)},
	}
}

// Answer answers a question.
func (b *Harness) Answer(t testing.TB, id schema.EventID) {
	t.Helper()
	require.NoError(t, b.Store.Apply(context.Background(), AnswerChange(b.MustQuestion(t, id))))
}

// EventIDs returns the ids of events.
func EventIDs(events []*store.Event) []schema.EventID {
	list := make([]schema.EventID, len(events))
	for i, e := range events {
		list[i] = e.ID
	}
	return list
}

// RequireDense reads the whole log and requires every number exactly once.
func RequireDense(t testing.TB, s store.Store) {
	t.Helper()
	seq := int64(0)
	for seq < s.Head() {
		rows, err := s.After(context.Background(), seq, 1000)
		require.NoError(t, err)
		require.NotEmpty(t, rows)
		for _, r := range rows {
			seq++
			require.Equal(t, seq, r.Seq)
		}
	}
}
