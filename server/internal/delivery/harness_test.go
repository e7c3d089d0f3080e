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
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/hookback/hookback/server/internal/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secretPath = "9f8e7d6c5b4a"

const waitLimit = time.Minute // limit for conditions that will become true

type harness struct {
	t      testing.TB
	file   string
	store  store.Store
	now    atomic.Int64 // Unix ms
	log    lockedBuffer
	policy *DialPolicy
	feed   *feed.Feed // since the store was opened

	mu      sync.Mutex
	changed chan struct{} // closed at every commit
	commit  time.Time     // the time of the last commit
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

func newHarness(t testing.TB) *harness {
	t.Helper()
	b := &harness{t: t, file: storetest.NewSQLiteFile(t), changed: make(chan struct{})}
	b.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	var err error
	b.policy, err = NewDialPolicy(DialPolicyConfig{})
	require.NoError(t, err)
	b.open()
	t.Cleanup(func() {
		require.NoError(t, b.store.Close())
		require.NotContains(t, b.log.String(), secretPath)
	})
	return b
}

func (h *harness) clock() time.Time          { return time.UnixMilli(h.now.Load()) }
func (h *harness) advance(d time.Duration)   { h.now.Add(d.Milliseconds()) }
func (h *harness) reopen()                   { require.NoError(h.t, h.store.Close()); h.open() }
func (h *harness) notified() <-chan struct{} { h.mu.Lock(); defer h.mu.Unlock(); return h.changed }
func (h *harness) committedAt() time.Time    { h.mu.Lock(); defer h.mu.Unlock(); return h.commit }

func (h *harness) open() {
	var err error
	h.store, err = sqlite.Open(h.t.Context(), sqlite.Config{Path: h.file, Clock: h.clock, ReserveFileBytes: -1})
	require.NoError(h.t, err)
	h.feed = feed.New(h.store.Head(), 64, 1<<20)
	h.store.SetPublish(func(rows []store.LogRow) {
		committed := time.Now()
		for _, row := range rows { // as the hub does
			h.feed.Publish(feed.Frame{Seq: row.Seq, ID: int64(row.Event.ID), Kinds: row.Kinds})
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.commit = committed
		close(h.changed)
		h.changed = make(chan struct{})
	})
}

func (h *harness) dispatcher() *Dispatcher {
	d := New(Config{
		Store: h.store, Feed: h.feed, Hub: &fakeHub{}, DialPolicy: h.policy, Clock: h.clock,
		Log: slog.New(slog.NewTextHandler(&h.log, nil)),
	})
	// No timeout expires by accident on a slow machine. Tests of silent listeners shorten theirs.
	d.timeouts = timeouts{
		probe: waitLimit, dial: waitLimit, write: waitLimit, idle: waitLimit, ack: waitLimit, close: waitLimit, hold: time.Hour,
	}
	d.jitter = func() float64 { return 1 }
	return d
}

// fakeHub is a Hub whose POSTs have their responses, unless a test sets a function.
type fakeHub struct {
	await   func(context.Context, schema.EventID) error
	abandon func(ctx context.Context, id schema.EventID, url string) error
}

func (f *fakeHub) AwaitResponseSent(ctx context.Context, id schema.EventID) error {
	if f.await == nil {
		return nil
	}
	return f.await(ctx, id)
}

func (f *fakeHub) AbandonListener(ctx context.Context, id schema.EventID, url string) error {
	return f.abandon(ctx, id, url)
}

// redispatch does what the hub does when an agent names another URL for an answered question.
func (h *harness) redispatch(id schema.EventID) {
	h.feed.PublishFact(feed.Fact{Kinds: feed.Leased, ID: int64(id)})
}

// poll makes a dispatcher look for due deliveries.
func (h *harness) poll() { h.feed.PublishFact(feed.Fact{Kinds: feed.Due}) }

func (h *harness) startDispatcher(d *Dispatcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-ended }) }
	h.t.Cleanup(stop)
	return stop
}

func (h *harness) addQuestion(ask store.NewQuestion, payload string) *store.Question {
	h.t.Helper()
	r, err := h.store.Append(h.t.Context(), h.draft(ask, payload))
	require.NoError(h.t, err)
	q, err := h.store.Question(h.t.Context(), r.Event.ID)
	require.NoError(h.t, err)
	return q
}

func (h *harness) draft(ask store.NewQuestion, payload string) *store.EventDraft {
	h.t.Helper()
	if payload == "" {
		payload = `{"agent_name":"alice","permission_type":"env_file_access"}`
	}
	status, err := json.Marshal(schema.Status{Status: schema.Pending, Revision: 1})
	require.NoError(h.t, err)
	ask.BodyHash = []byte("body") // a repeat is the same request
	return &store.EventDraft{
		Event: store.Event{
			UID: uuid.Must(uuid.NewV7()).String(), ReceivedAt: h.clock(), Timestamp: 1, App: "app", Session: "s", Type: "HumanInTheLoop",
			Envelope: []byte(`"source_app":"app","session_id":"s","hook_event_type":"HumanInTheLoop"`), Payload: []byte(payload),
			Question: []byte(`{"question":"May I?","type":"permission"}`), Status: status,
		},
		NewQuestion: &ask, IdempotencyKey: uuid.NewString(),
	}
}

func (h *harness) addAnswered(ask store.NewQuestion, payload string) schema.EventID {
	h.t.Helper()
	return h.answerQuestion(h.addQuestion(ask, payload))
}

func (h *harness) answerQuestion(q *store.Question) schema.EventID {
	h.t.Helper()
	yes := true
	answer := schema.Answer{Permission: &yes, RespondedAt: 5, AnswerID: uuid.Must(uuid.NewV7()).String()}
	body, err := json.Marshal(answer)
	require.NoError(h.t, err)
	status, err := json.Marshal(schema.Status{Status: schema.Responded, Revision: 2, Delivery: &schema.Delivery{State: schema.Queued}})
	require.NoError(h.t, err)
	now := h.clock()
	require.NoError(h.t, h.store.Apply(h.t.Context(), store.Change{
		Event: &q.Event, Version: q.Version, State: schema.Responded, Status: status, Answer: body, Ends: true,
		Delivery: &store.Delivery{
			ID: q.ID, AnswerID: answer.AnswerID, State: schema.Queued, Due: now, Until: now.Add(time.Hour),
			Leased: now.Add(leaseDuration),
		},
	}))
	return q.ID
}

func (h *harness) waitForDelivery(id schema.EventID, want func(*schema.Delivery) bool) (*schema.Status, *store.Question) {
	h.t.Helper()
	timeout := time.After(waitLimit)
	for {
		changed := h.notified()
		q, err := h.store.Question(context.Background(), id)
		require.NoError(h.t, err)
		require.NotContains(h.t, string(q.Status), secretPath)
		var st schema.Status
		require.NoError(h.t, json.Unmarshal(q.Status, &st))
		if st.Delivery != nil && want(st.Delivery) {
			return &st, q
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(h.t, "the delivery does not reach the expected state", "%s", q.Status)
		}
	}
}

func inState(states ...schema.DeliveryState) func(*schema.Delivery) bool {
	return func(d *schema.Delivery) bool { return slices.Contains(states, d.State) }
}

func hasAttempts(n int) func(*schema.Delivery) bool {
	return func(d *schema.Delivery) bool { return d.Attempts >= n && d.State != schema.Sending }
}
