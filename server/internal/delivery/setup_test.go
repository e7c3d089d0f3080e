package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secretPath = "9f8e7d6c5b4a"

const patience = 20 * time.Second // for a condition that will come true

type bench struct {
	t       testing.TB
	file    string
	store   *store.Store
	now     atomic.Int64 // Unix ms
	log     lockedBuffer
	targets *DialPolicy

	mu      sync.Mutex
	changed chan struct{} // closed at every commit
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func setup(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, file: storetest.NewFile(t), changed: make(chan struct{})}
	b.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	var err error
	b.targets, err = NewDialPolicy(DialPolicyConfig{})
	require.NoError(t, err)
	b.open()
	t.Cleanup(func() {
		require.NoError(t, b.store.Close())
		require.NotContains(t, b.log.String(), secretPath)
	})
	return b
}

func (b *bench) clock() time.Time          { return time.UnixMilli(b.now.Load()) }
func (b *bench) advance(d time.Duration)   { b.now.Add(d.Milliseconds()) }
func (b *bench) reopen()                   { require.NoError(b.t, b.store.Close()); b.open() }
func (b *bench) notified() <-chan struct{} { b.mu.Lock(); defer b.mu.Unlock(); return b.changed }

func (b *bench) open() {
	var err error
	b.store, err = store.Open(b.t.Context(), store.Config{Path: b.file, Clock: b.clock, ReserveFileBytes: -1, Publish: func([]store.LogRow) {
		b.mu.Lock()
		defer b.mu.Unlock()
		close(b.changed)
		b.changed = make(chan struct{})
	}})
	require.NoError(b.t, err)
}

func (b *bench) dispatcher() *Dispatcher {
	d := New(Config{
		Store: b.store, DialPolicy: b.targets, Clock: b.clock,
		Log: slog.New(slog.NewTextHandler(&b.log, nil)),
	})
	d.timing = timing{dial: 2 * time.Second, write: 2 * time.Second, silence: 50 * time.Millisecond, ack: 2 * time.Second, goodbye: time.Second}
	d.jitter = func() float64 { return 1 }
	return d
}

func (b *bench) start(d *Dispatcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-ended }) }
	b.t.Cleanup(stop)
	return stop
}

func (b *bench) ask(ask store.NewQuestion, payload string) *store.Question {
	b.t.Helper()
	r, err := b.store.Append(b.t.Context(), b.draft(ask, payload))
	require.NoError(b.t, err)
	q, err := b.store.Question(b.t.Context(), r.Event.ID)
	require.NoError(b.t, err)
	return q
}

func (b *bench) draft(ask store.NewQuestion, payload string) *store.EventDraft {
	b.t.Helper()
	if payload == "" {
		payload = `{"agent_name":"alice","permission_type":"env_file_access"}`
	}
	status, err := json.Marshal(schema.Status{Status: schema.Pending, Revision: 1})
	require.NoError(b.t, err)
	return &store.EventDraft{
		Event: store.Event{
			UID: uuid.Must(uuid.NewV7()).String(), ReceivedAt: b.clock(), Timestamp: 1, App: "app", Session: "s", Type: "HumanInTheLoop",
			Envelope: []byte(`"source_app":"app","session_id":"s","hook_event_type":"HumanInTheLoop"`), Payload: []byte(payload),
			Question: []byte(`{"question":"May I?","type":"permission"}`), Status: status,
		},
		NewQuestion: &ask, Key: uuid.NewString(),
	}
}

func (b *bench) answered(ask store.NewQuestion, payload string) schema.EventID {
	b.t.Helper()
	return b.answer(b.ask(ask, payload))
}

func (b *bench) answer(q *store.Question) schema.EventID {
	b.t.Helper()
	yes := true
	answer := schema.Answer{Permission: &yes, RespondedAt: 5, AnswerID: uuid.Must(uuid.NewV7()).String()}
	body, err := json.Marshal(answer)
	require.NoError(b.t, err)
	status, err := json.Marshal(schema.Status{Status: schema.Responded, Revision: 2, Delivery: &schema.Delivery{State: schema.Queued}})
	require.NoError(b.t, err)
	now := b.clock()
	require.NoError(b.t, b.store.Apply(b.t.Context(), store.Change{
		Event: &q.Event, Version: q.Version, State: schema.Responded, Status: status, Answer: body, Ends: true,
		Delivery: &store.Delivery{ID: q.ID, AnswerID: answer.AnswerID, State: schema.Queued, Due: now, Until: now.Add(time.Hour), Leased: now.Add(lease)},
	}))
	return q.ID
}

func (b *bench) status(id schema.EventID, want func(*schema.Delivery) bool) (*schema.Status, *store.Question) {
	b.t.Helper()
	timeout := time.After(patience)
	for {
		changed := b.notified()
		q, err := b.store.Question(context.Background(), id)
		require.NoError(b.t, err)
		require.NotContains(b.t, string(q.Status), secretPath)
		var st schema.Status
		require.NoError(b.t, json.Unmarshal(q.Status, &st))
		if st.Delivery != nil && want(st.Delivery) {
			return &st, q
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(b.t, "the delivery is not as wanted", "%s", q.Status)
		}
	}
}

func in(states ...schema.DeliveryState) func(*schema.Delivery) bool {
	return func(d *schema.Delivery) bool { return slices.Contains(states, d.State) }
}

func attempted(n int) func(*schema.Delivery) bool {
	return func(d *schema.Delivery) bool { return d.Attempts >= n && d.State != schema.Sending }
}
