package delivery

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// abandonRecorder implements Hub.AbandonListener and records its calls.
type abandonRecorder struct {
	h        *harness
	failures int // number of initial calls that fail

	mu    sync.Mutex
	calls int
}

func (r *abandonRecorder) abandon(ctx context.Context, id schema.EventID, url string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; r.calls <= r.failures {
		return errors.New("disk failure")
	}
	q, err := r.h.store.Question(ctx, id)
	if err != nil || q.URL != url || q.State != schema.Pending {
		return err
	}
	r.h.answerQuestion(q)
	return nil
}

func (r *abandonRecorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// runLiveness runs RunLiveness until the test ends.
func (h *harness) runLiveness(change ...func(*Dispatcher, *abandonRecorder)) (*Dispatcher, *abandonRecorder) {
	d, recorder := h.dispatcher(), &abandonRecorder{h: h}
	d.Hub = &fakeHub{abandon: recorder.abandon}
	for _, c := range change {
		c(d, recorder)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.RunLiveness(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		require.ErrorIs(h.t, <-ended, context.Canceled)
	})
	return d, recorder
}

// shortPauses makes all pauses short.
func shortPauses(d *Dispatcher, _ *abandonRecorder) { beforePause(func() {})(d, nil) }

// beforePause makes all pauses short and calls f before each.
func beforePause(f func()) func(*Dispatcher, *abandonRecorder) {
	return func(d *Dispatcher, _ *abandonRecorder) {
		d.after = func(time.Duration) <-chan time.Time {
			f()
			return time.After(time.Millisecond)
		}
	}
}

func (h *harness) isPending(id schema.EventID) bool {
	h.t.Helper()
	q, err := h.store.Question(h.t.Context(), id)
	require.NoError(h.t, err)
	return q.State == schema.Pending
}

// waitForEnd waits until the question is settled.
func (h *harness) waitForEnd(id schema.EventID) {
	h.t.Helper()
	timeout := time.After(waitLimit)
	for {
		changed := h.notified()
		if !h.isPending(id) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(h.t, "the question does not end")
		}
	}
}

// acceptConns accepts connections at addr and passes each to do, until stop is called.
func acceptConns(t *testing.T, addr string, do func(net.Conn)) (url string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	var mu sync.Mutex
	var conns []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			do(c)
		}
	})
	stop = sync.OnceFunc(func() { // like the kernel for a process that dies
		_ = ln.Close()
		serving.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	t.Cleanup(stop)
	return idleListener{ln}.url(), stop
}

var livenessQuestion = store.NewQuestion{Protocol: 2, Lifeline: store.ByListener}

func livenessAt(url string) store.NewQuestion {
	a := livenessQuestion
	a.URL = url
	return a
}

func TestLiveness_EndsQuestionOfDeadAgent(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	connected := make(chan struct{}, 10)
	url, stop := acceptConns(t, "127.0.0.1:0", func(net.Conn) { connected <- struct{}{} })
	dead := h.addQuestion(livenessAt(closedPort(t)), "").ID // its agent exited while no hub ran
	var mu sync.Mutex
	var paused time.Duration
	// Connections are held for an hour (see harness.dispatcher), so only the end of the
	// agent's process can end the wait.
	h.runLiveness(func(d *Dispatcher, _ *abandonRecorder) {
		d.after = func(pause time.Duration) <-chan time.Time {
			mu.Lock()
			defer mu.Unlock()
			paused += pause
			return time.After(pause)
		}
	})
	h.waitForEnd(dead)
	id := h.addQuestion(livenessAt(url), "").ID
	<-connected
	stop()
	h.waitForEnd(id)
	mu.Lock()
	defer mu.Unlock()
	require.LessOrEqual(t, paused, minRedialInterval+2*refusedRetryDelay, "the pauses are too long")
	require.Empty(t, connected, "there was more than one connection")
}

// TestLiveness_KeepsSlowAgents: whatever a listener does with a connection, the agent is alive.
func TestLiveness_KeepsSlowAgents(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	closed := make(chan struct{}, 1000)
	hangsUp, stop := acceptConns(t, "127.0.0.1:0", func(c net.Conn) { _ = c.Close(); closed <- struct{}{} })
	talks, _ := acceptConns(t, "127.0.0.1:0", func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 408 Request Timeout\r\n\r\n")) })
	silent, _ := acceptConns(t, "127.0.0.1:0", func(net.Conn) {})
	stopped := openPort(t).url() // accepts no connection, like a stopped process
	ids := []schema.EventID{h.addQuestion(livenessAt(hangsUp), "").ID}
	for _, url := range []string{talks, silent, stopped} {
		ids = append(ids, h.addQuestion(livenessAt(url), "").ID)
	}
	_, recorder := h.runLiveness(shortPauses)
	for range 50 {
		<-closed
	}
	require.Zero(t, recorder.count())
	stop()
	h.waitForEnd(ids[0])
	for _, id := range ids[1:] {
		require.True(t, h.isPending(id))
	}
}

// TestLiveness_IgnoresUnreachableHost: an unreachable agent may still be alive.
func TestLiveness_IgnoresUnreachableHost(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	policy, err := NewDialPolicy(DialPolicyConfig{Allow: []string{"ws://agent.invalid"}}) // a name that never resolves
	require.NoError(t, err)
	id := h.addQuestion(livenessAt("ws://agent.invalid:50123/"+secretPath), "").ID
	pauses := make(chan struct{}, 1000)
	_, recorder := h.runLiveness(beforePause(func() { pauses <- struct{}{} }), func(d *Dispatcher, _ *abandonRecorder) {
		d.DialPolicy, d.timeouts.probe = policy, time.Second // for the name lookup
	})
	for range 4 {
		<-pauses
	}
	require.Zero(t, recorder.count())
	require.True(t, h.isPending(id))
}

func TestLiveness_ToleratesOneRefusal(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := openPort(t)
	addr := p.Addr().String()
	require.NoError(t, p.Close())
	connected := make(chan struct{}, 1)
	id := h.addQuestion(livenessAt(p.url()), "").ID
	_, recorder := h.runLiveness(beforePause(sync.OnceFunc(func() {
		acceptConns(t, addr, func(net.Conn) { connected <- struct{}{} })
	})))
	<-connected
	require.Zero(t, recorder.count())
	require.True(t, h.isPending(id))
}

func TestLiveness_SkipsOtherQuestions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	p := openPort(t)
	policy, err := NewDialPolicy(DialPolicyConfig{OwnPorts: []uint16{uint16(p.Addr().(*net.TCPAddr).Port)}})
	require.NoError(t, err)
	var ids []schema.EventID
	for _, ask := range []store.NewQuestion{
		livenessAt(p.url()), // blocked
		{URL: closedPort(t), Protocol: 2},
		{Protocol: 2, Lifeline: store.ByRequest},
	} {
		ids = append(ids, h.addQuestion(ask, "").ID)
	}
	h.answerQuestion(h.addQuestion(livenessAt(closedPort(t)), "")) // already settled
	_, recorder := h.runLiveness(shortPauses, func(d *Dispatcher, _ *abandonRecorder) { d.DialPolicy = policy })
	gone := h.addQuestion(livenessAt(closedPort(t)), "").ID
	h.waitForEnd(gone)
	for _, id := range ids {
		require.True(t, h.isPending(id))
	}
	require.Equal(t, 1, recorder.count())
	require.Zero(t, p.probes(t))
}

// TestLiveness_WaitsForPostResponse: an agent that blocks in its POST may start its listener
// only afterwards.
func TestLiveness_WaitsForPostResponse(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	awaited, responded := make(chan struct{}), make(chan struct{})
	id := h.addQuestion(livenessAt(closedPort(t)), "").ID
	_, recorder := h.runLiveness(shortPauses, func(d *Dispatcher, _ *abandonRecorder) {
		d.Hub.(*fakeHub).await = func(context.Context, schema.EventID) error {
			close(awaited)
			<-responded
			return nil
		}
	})
	<-awaited
	require.Zero(t, recorder.count())
	close(responded)
	h.waitForEnd(id)
}

// TestLiveness_SharesConnectionSlots: all questions end, even if they are more than the
// connection limit.
func TestLiveness_SharesConnectionSlots(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	url, stop := acceptConns(t, "127.0.0.1:0", func(c net.Conn) { _ = c.Close() })
	var ids []schema.EventID
	for range 7 {
		ids = append(ids, h.addQuestion(livenessAt(url), "").ID)
	}
	h.runLiveness(shortPauses, func(d *Dispatcher, _ *abandonRecorder) { d.livenessLimit = 2 })
	stop()
	for _, id := range ids {
		h.waitForEnd(id)
	}
}

// TestLiveness_LimitsConnections: no more connections are open than the limit permits.
func TestLiveness_LimitsConnections(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	conns := make(chan net.Conn, 20)
	url, _ := acceptConns(t, "127.0.0.1:0", func(c net.Conn) { conns <- c })
	for range 7 {
		h.addQuestion(livenessAt(url), "")
	}
	h.runLiveness(shortPauses, func(d *Dispatcher, _ *abandonRecorder) { d.livenessLimit = 2 })
	<-conns
	for range 5 {
		c := <-conns
		own, err := net.Dial("tcp", c.LocalAddr().String())
		require.NoError(t, err)
		last := <-conns
		require.Equal(t, own.LocalAddr().String(), last.RemoteAddr().String(), "more than two connections are open")
		require.NoError(t, own.Close())
		require.NoError(t, c.Close())
	}
}

// TestLiveness_FollowsNewURL: a repeat of the question names another listener.
func TestLiveness_FollowsNewURL(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	connected := make(chan struct{}, 1)
	newURL, stop := acceptConns(t, "127.0.0.1:0", func(net.Conn) { connected <- struct{}{} })
	first := h.draft(livenessAt(closedPort(t)), "")
	first.IdempotencyKey = "again"
	r, err := h.store.Append(t.Context(), first)
	require.NoError(t, err)
	h.runLiveness(beforePause(sync.OnceFunc(func() {
		second := h.draft(livenessAt(newURL), "")
		second.IdempotencyKey = first.IdempotencyKey
		if _, err := h.store.Append(context.Background(), second); err != nil {
			t.Error(err)
		}
	})))
	<-connected
	require.True(t, h.isPending(r.Event.ID))
	stop()
	h.waitForEnd(r.Event.ID)
}

// TestLiveness_WatchesAllowedURLAfterBlockedOne: the repeat of a question names a listener that the
// dial policy allows, which it did not for the first.
func TestLiveness_WatchesAllowedURLAfterBlockedOne(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	blocked := openPort(t)
	policy, err := NewDialPolicy(DialPolicyConfig{OwnPorts: []uint16{uint16(blocked.Addr().(*net.TCPAddr).Port)}})
	require.NoError(t, err)
	id, err := h.addRepeatable(livenessAt(blocked.url()), "again")
	require.NoError(t, err)
	_, recorder := h.runLiveness(beforePause(sync.OnceFunc(func() {
		if _, err := h.addRepeatable(livenessAt(closedPort(t)), "again"); err != nil {
			t.Error(err)
		}
	})), func(d *Dispatcher, _ *abandonRecorder) { d.DialPolicy = policy })
	h.waitForEnd(id)
	require.Equal(t, 1, recorder.count())
	require.Zero(t, blocked.probes(t))
}

// addRepeatable adds a question, or repeats the one with the same key.
func (h *harness) addRepeatable(ask store.NewQuestion, key string) (schema.EventID, error) {
	draft := h.draft(ask, "")
	draft.IdempotencyKey = key
	r, err := h.store.Append(context.Background(), draft)
	if err != nil {
		return 0, err
	}
	return r.Event.ID, nil
}

func TestLiveness_RetriesFailedAbandon(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.addQuestion(livenessAt(closedPort(t)), "").ID
	_, recorder := h.runLiveness(shortPauses, func(_ *Dispatcher, recorder *abandonRecorder) { recorder.failures = 2 })
	h.waitForEnd(id)
	require.Equal(t, 3, recorder.count())
	require.Equal(t, 2, strings.Count(h.log.String(), "abandoning a question failed"))
}

// unreadableLifelines is a store whose engine can't read the questions with a liveness signal.
type unreadableLifelines struct{ store.Store }

func (unreadableLifelines) Lifelines(context.Context, store.Lifeline, schema.EventID) ([]schema.EventID, error) {
	return nil, errors.New("disk I/O error")
}

func TestLiveness_LogsErrorOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tries := make(chan struct{}, 1000)
	h.runLiveness(beforePause(func() { tries <- struct{}{} }), func(d *Dispatcher, _ *abandonRecorder) {
		d.Store = unreadableLifelines{h.store}
	})
	for range 4 {
		<-tries
	}
	require.Equal(t, 1, strings.Count(h.log.String(), "read of questions with a liveness connection failed"))
}

// TestDispatcher_AnswerAtAgentNeedsNoDelivery: after an answer at the agent, an unreachable hook
// is not an undelivered answer. A hook that still listens gets the answer.
func TestDispatcher_AnswerAtAgentNeedsNoDelivery(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.dispatcher()
	l := startListener(t, acknowledge(schema.AckAccepted))
	want := map[schema.EventID]schema.DeliveryState{}
	for url, state := range map[string]schema.DeliveryState{closedPort(t): schema.NoDelivery, l.url(): schema.Acked} {
		q := h.addQuestion(store.NewQuestion{URL: url, Protocol: 2}, "")
		id := h.answerQuestion(q)
		q, err := h.store.Question(t.Context(), id)
		require.NoError(t, err)
		_, err = d.updateStatus(t.Context(), q, nil, func(st *schema.Status) { st.Outcome, st.Source = schema.Cancelled, schema.ByAgent })
		require.NoError(t, err)
		want[id] = state
	}
	h.startDispatcher(d)
	for id, state := range want {
		st, q := h.waitForDelivery(id, inState(state))
		require.Equal(t, 1, st.Delivery.Attempts)
		require.True(t, q.Delivery.Due.IsZero())
		require.False(t, q.Delivery.IsUndelivered())
	}
}
