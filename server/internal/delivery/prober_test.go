package delivery

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// runRounds runs n rounds of a prober that is not started.
func (h *harness) runRounds(w *prober, n int) {
	h.t.Helper()
	for range n {
		require.NoError(h.t, w.probeRound(h.t.Context()))
	}
}

// runProber runs a prober until the test ends, one round per tick.
func (h *harness) runProber(w *prober) (ticks chan<- time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	ticker := make(chan time.Time)
	w.startTimer = func(time.Duration) <-chan time.Time { return ticker }
	go func() { ended <- w.run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		require.ErrorIs(h.t, <-ended, context.Canceled)
	})
	return ticker
}

func (h *harness) waiter(id schema.EventID) schema.Waiter {
	h.t.Helper()
	q, err := h.store.Question(h.t.Context(), id)
	require.NoError(h.t, err)
	require.Equal(h.t, schema.Pending, q.State, "the prober ended the question of a lost agent")
	var st schema.Status
	require.NoError(h.t, json.Unmarshal(q.Status, &st))
	return st.Waiter
}

// waitForWaiter waits until the prober has stored this liveness.
func (h *harness) waitForWaiter(id schema.EventID, want schema.Waiter) {
	h.t.Helper()
	timeout := time.After(waitLimit)
	for {
		changed := h.notified()
		if h.waiter(id) == want {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(h.t, "the liveness does not become as expected", "%s, not %s", h.waiter(id), want)
		}
	}
}

// idleListener is a listener that accepts connections only in probes.
type idleListener struct{ net.Listener }

func openPort(t *testing.T) idleListener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return idleListener{ln}
}

func (p idleListener) url() string { return "ws://" + p.Addr().String() + "/" + secretPath }

// probes returns the number of connections so far: all that are accepted before its own.
func (p idleListener) probes(t *testing.T) (n int) {
	t.Helper()
	own, err := net.Dial("tcp", p.Addr().String())
	require.NoError(t, err)
	defer func() { _ = own.Close() }()
	for {
		conn, err := p.Accept()
		require.NoError(t, err)
		from := conn.RemoteAddr().String()
		require.NoError(t, conn.Close())
		if from == own.LocalAddr().String() {
			return n
		}
		n++
	}
}

// closedPort returns the URL of an agent that is gone. Until the test ends, a connection has the port,
// so that no listener of another test gets it.
func closedPort(t *testing.T) string {
	t.Helper()
	conn, err := net.Dial("tcp", openPort(t).Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return "ws://" + conn.LocalAddr().String() + "/" + secretPath
}

func TestProber_ShowsLostAgent(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, closeWith(1000))
	addr := l.ln.Addr().String()
	d := h.dispatcher()
	ticks := h.runProber(newProber(d))
	q := h.addQuestion(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	ticks <- time.Time{}
	h.waitForWaiter(q.ID, schema.Listening)
	ticks <- time.Time{} // taken when the previous round has ended
	ticks <- time.Time{}
	l.stop()
	before, err := h.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	ticks <- time.Time{}
	ticks <- time.Time{}
	ticks <- time.Time{}
	h.waitForWaiter(q.ID, schema.Lost)
	after, err := h.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	require.Equal(t, before.Version+1, after.Version, "stored once")
	require.Contains(t, string(after.Status), `"revision":3`)
	require.Nil(t, after.Delivery)

	startListenerAt(t, addr, acknowledge(schema.AckAccepted))
	ticks <- time.Time{}
	h.waitForWaiter(q.ID, schema.Listening)
	q, err = h.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	h.startDispatcher(d)
	h.answerQuestion(q)
	h.waitForDelivery(q.ID, inState(schema.Acked))
}

// A restart of the hub must not prolong the time in which a lost agent seems to wait.
func TestProber_StartsWithRound(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	q := h.addQuestion(store.NewQuestion{URL: startListener(t, closeWith(1000)).url(), Protocol: 2}, "")
	w := newProber(h.dispatcher())
	w.ProbeInterval = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	t.Cleanup(func() { cancel(); require.ErrorIs(t, <-ended, context.Canceled) })
	h.waitForWaiter(q.ID, schema.Listening)
}

// listingStore reports how many listeners each round of the prober finds.
type listingStore struct {
	store.Store
	found chan int
}

func (s listingStore) Listeners(ctx context.Context, after schema.EventID, limit int) ([]store.Listener, error) {
	listeners, err := s.Store.Listeners(ctx, after, limit)
	s.found <- len(listeners)
	return listeners, err
}

// Without a question to probe, the prober starts no timer until there is one.
func TestProber_RestsWithoutQuestions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	w := newProber(h.dispatcher())
	found := make(chan int, 8)
	w.Store = listingStore{h.store, found}
	timers := make(chan chan time.Time, 8)
	w.startTimer = func(time.Duration) <-chan time.Time {
		timer := make(chan time.Time)
		timers <- timer
		return timer
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	t.Cleanup(func() { cancel(); require.ErrorIs(t, <-ended, context.Canceled) })
	(<-timers) <- time.Time{}
	require.Zero(t, <-found, "the first round")
	q := h.addQuestion(store.NewQuestion{URL: startListener(t, closeWith(1000)).url(), Protocol: 2}, "")
	(<-timers) <- time.Time{}
	require.Equal(t, 1, <-found)
	h.waitForWaiter(q.ID, schema.Listening)
	q, err := h.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	h.answerQuestion(q)
	(<-timers) <- time.Time{}
	require.Zero(t, <-found, "there is nothing to probe any more")
	h.feed.PublishFact(feed.Fact{Kinds: feed.Deadline})
	require.Empty(t, timers)
}

func TestProber_ToleratesOneRefusal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, closeWith(1000))
	addr := l.ln.Addr().String()
	w := newProber(h.dispatcher())
	id := h.addQuestion(store.NewQuestion{URL: l.url(), Protocol: 2}, "").ID
	for range 3 {
		h.runRounds(w, 1)
		require.Equal(t, schema.Listening, h.waiter(id))
		l.stop()
		h.runRounds(w, 1)
		require.Equal(t, schema.Listening, h.waiter(id))
		l = startListenerAt(t, addr, closeWith(1000))
	}
}

func TestProber_SkipsOtherListeners(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := openPort(t)
	policy, err := NewDialPolicy(DialPolicyConfig{OwnPorts: []uint16{uint16(p.Addr().(*net.TCPAddr).Port)}})
	require.NoError(t, err)
	gone := closedPort(t)
	for name, c := range map[string]struct {
		ask    store.NewQuestion
		adjust func(*Dispatcher)
	}{
		"version 1 prints a traceback": {ask: store.NewQuestion{URL: p.url(), Protocol: 1}},
		"the agent pulls":              {ask: store.NewQuestion{Protocol: 2}},
		"a blocked address":            {ask: store.NewQuestion{URL: p.url(), Protocol: 2}, adjust: func(d *Dispatcher) { d.DialPolicy = policy }},
		"its POST has no response yet": {ask: store.NewQuestion{URL: p.url(), Protocol: 2}, adjust: func(d *Dispatcher) {
			d.Hub.(*fakeHub).await = func(ctx context.Context, _ schema.EventID) error { <-ctx.Done(); return ctx.Err() }
		}},
		"gone and its POST has no response yet": {ask: store.NewQuestion{URL: gone, Protocol: 2}, adjust: func(d *Dispatcher) {
			d.Hub.(*fakeHub).await = func(context.Context, schema.EventID) error { return context.Canceled }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := h.dispatcher()
			if c.adjust != nil {
				c.adjust(d)
			}
			q := h.addQuestion(c.ask, "")
			h.runRounds(newProber(d), 3)
			require.Empty(t, h.waiter(q.ID))
			require.Zero(t, p.probes(t))
			h.answerQuestion(q) // so that the next case does not see it
		})
	}
	h.runRounds(newProber(h.dispatcher()), 3)
	require.Zero(t, p.probes(t), "no question is pending")
}

func TestProber_ProbesListenerOncePerRound(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := openPort(t)
	w := newProber(h.dispatcher())
	for range 20 {
		h.addQuestion(store.NewQuestion{URL: p.url(), Protocol: 2}, "")
	}
	h.runRounds(w, 1)
	require.Equal(t, 1, p.probes(t))
	for id := schema.EventID(1); id <= 20; id++ {
		require.Equal(t, schema.Listening, h.waiter(id))
	}
	h.runRounds(w, 3)
	require.Equal(t, 3, p.probes(t))
}

func TestProber_CoversAllQuestionsInBatches(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	gone := closedPort(t)
	var questions []schema.EventID
	for range 5 {
		questions = append(questions, h.addQuestion(store.NewQuestion{URL: gone, Protocol: 2}, "").ID)
	}
	w := newProber(h.dispatcher())
	w.batchSize = 2 // a pass takes three rounds
	for _, lost := range []int{0, 0, 0, 2, 4, 5, 5} {
		h.runRounds(w, 1)
		for i, id := range questions {
			require.Equal(t, i < lost, h.waiter(id) == schema.Lost, "question %d", i)
		}
	}
	require.Len(t, w.previousRefusals, 2+2+1)
}

func TestProber_HandlesManyListeners(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	w := newProber(h.dispatcher())
	want := map[schema.EventID]schema.Waiter{}
	for range 3 * maxConcurrentProbes {
		want[h.addQuestion(store.NewQuestion{URL: openPort(t).url(), Protocol: 2}, "").ID] = schema.Listening
	}
	for range 3 * maxConcurrentProbes {
		want[h.addQuestion(store.NewQuestion{URL: closedPort(t), Protocol: 2}, "").ID] = schema.Lost
	}
	h.runRounds(w, 2)
	for id, waiter := range want {
		require.Equal(t, waiter, h.waiter(id))
	}
}

func TestProber_StartsOverAtNewURL(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	w := newProber(h.dispatcher())
	const key = "again"
	post := func(url string) schema.EventID {
		q := h.draft(store.NewQuestion{URL: url, Protocol: 2}, "")
		q.IdempotencyKey = key
		r, err := h.store.Append(t.Context(), q)
		require.NoError(t, err)
		return r.Event.ID
	}
	id := post(closedPort(t))
	h.runRounds(w, 1)
	post(closedPort(t))
	h.runRounds(w, 1)
	require.NotEqual(t, schema.Lost, h.waiter(id), "each URL refused once")
	h.runRounds(w, 1)
	require.Equal(t, schema.Lost, h.waiter(id))
	post(openPort(t).url())
	h.runRounds(w, 1)
	require.Equal(t, schema.Listening, h.waiter(id))
}

func TestProber_IgnoresStaleResult(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	w := newProber(h.dispatcher())
	q := h.addQuestion(store.NewQuestion{URL: closedPort(t), Protocol: 2}, "")
	listeners, err := h.store.Listeners(t.Context(), 0, 1)
	require.NoError(t, err)
	require.Len(t, listeners, 1)
	h.answerQuestion(q)
	require.NoError(t, w.recordWaiter(t.Context(), listeners[0], schema.Lost))
	after, err := h.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	require.NotContains(t, string(after.Status), "waiter")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to, err := w.DialPolicy.checkURL(q.URL)
	require.NoError(t, err)
	require.Equal(t, schema.Unknown, w.probe(ctx, to), "a canceled probe proves nothing")
}

func TestProber_LogsErrorOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.dispatcher()
	ticks := h.runProber(newProber(d))
	require.NoError(t, h.store.Close())
	for range 4 {
		ticks <- time.Time{}
	}
	require.Equal(t, 1, strings.Count(h.log.String(), "probe round failed"))
}

func TestProber_StopsWithContext(t *testing.T) {
	t.Parallel()
	d := newHarness(t).dispatcher()
	require.Equal(t, 5*time.Second, d.ProbeInterval, "the documented default")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.RunProber(ctx), context.Canceled)
}
