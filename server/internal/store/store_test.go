package store

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
)

func TestMain(m *testing.M) {
	if crashed() { // this process is the child of TestCrash
		return
	}
	goleak.VerifyTestMain(m)
}

// began is when the tests' clock starts.
var began = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// clock moves when it is told to.
type clock struct{ past atomic.Int64 }

func (c *clock) now() time.Time          { return began.Add(time.Duration(c.past.Load())) }
func (c *clock) advance(d time.Duration) { c.past.Add(int64(d)) }

// bench is a store and what it published.
type bench struct {
	*Store
	clock *clock
	cfg   Config

	mu        sync.Mutex
	published []LogRow
}

func (b *bench) rows() []LogRow {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]LogRow(nil), b.published...)
}

func setup(t testing.TB, change ...func(*Config)) *bench {
	t.Helper()
	b := &bench{clock: &clock{}}
	b.cfg = Config{
		Path: t.TempDir() + "/hub.db", ReserveFileBytes: -1, Clock: b.clock.now,
		Disk: func(string) (Disk, error) { return Disk{Free: 1 << 40, Total: 2 << 40}, nil },
		Publish: func(rows []LogRow) {
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

func (b *bench) open(t testing.TB) {
	t.Helper()
	s, err := Open(context.Background(), b.cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	b.Store = s
}

// reopen is a restart of the hub.
func (b *bench) reopen(t testing.TB) {
	t.Helper()
	require.NoError(t, b.Close())
	b.open(t)
}

// draft is an event of an app's session.
func draft(app, session, typ, tool string) *EventDraft {
	return &EventDraft{Event: Event{
		UID: uuid.Must(uuid.NewV7()).String(), App: app, Session: session, Type: typ, Tool: tool, Timestamp: 1_758_000_000_000,
		Envelope: fmt.Appendf(nil, `"source_app":%q,"session_id":%q,"hook_event_type":%q`, app, session, typ),
		Payload:  []byte(`{"command":"go test ./..."}`),
	}}
}

// question is an event that asks, with a deadline when it is not zero.
func question(session string, deadline time.Time) *EventDraft {
	d := draft("app", session, "PermissionRequest", "Bash")
	d.Question = []byte(`{"question":"May I?","type":"permission"}`)
	d.Status = []byte(`{"status":"pending","revision":1}`)
	d.NewQuestion = &NewQuestion{URL: "ws://127.0.0.1:9/secret", ListenerKey: "key", Protocol: 2, Deadline: deadline, Text: "May I?", RequesterProcess: []byte(`{"pid":1}`)}
	return d
}

func (b *bench) append(t testing.TB, d *EventDraft) *Event {
	t.Helper()
	r, err := b.Append(context.Background(), d)
	require.NoError(t, err)
	return r.Event
}

func (b *bench) question(t testing.TB, id schema.EventID) *Question {
	t.Helper()
	q, err := b.Question(context.Background(), id)
	require.NoError(t, err)
	return q
}

// answered is the change that answers q, with a delivery on its way.
func answered(q *Question) Change {
	return Change{
		Event: &q.Event, Version: q.Version, State: schema.Responded, Ends: true,
		Status: []byte(`{"status":"responded","revision":2}`), Answer: []byte(`{"permission":true}`),
		Delivery: &Delivery{ID: q.ID, AnswerID: "a1", State: schema.Queued, Due: began, Until: began.Add(time.Hour)},
	}
}

func (b *bench) answer(t testing.TB, id schema.EventID) {
	t.Helper()
	require.NoError(t, b.Apply(context.Background(), answered(b.question(t, id))))
}

func ids(events []*Event) []schema.EventID {
	list := make([]schema.EventID, len(events))
	for i, e := range events {
		list[i] = e.ID
	}
	return list
}
