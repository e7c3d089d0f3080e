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
	"github.com/hookback/hookback/server/internal/store"
)

// rounds makes n rounds of a watcher that does not run.
func (b *bench) rounds(w *watcher, n int) {
	b.t.Helper()
	for range n {
		require.NoError(b.t, w.round(b.t.Context()))
	}
}

// watch runs a watcher until the test ends, a round for every tick.
func (b *bench) watch(w *watcher) (ticks chan<- time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	at := make(chan time.Time)
	go func() { ended <- w.run(ctx, at) }()
	b.t.Cleanup(func() {
		cancel()
		require.ErrorIs(b.t, <-ended, context.Canceled)
	})
	return at
}

func (b *bench) waiter(id schema.EventID) schema.Waiter {
	b.t.Helper()
	q, err := b.store.Question(b.t.Context(), id)
	require.NoError(b.t, err)
	require.Equal(b.t, schema.Pending, q.State, "nobody's question ends because it is gone")
	var st schema.Status
	require.NoError(b.t, json.Unmarshal(q.Status, &st))
	return st.Waiter
}

// becomes waits until the watcher has said so.
func (b *bench) becomes(id schema.EventID, want schema.Waiter) {
	b.t.Helper()
	timeout := time.After(patience)
	for {
		changed := b.notified()
		if b.waiter(id) == want {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(b.t, "the agent is not shown as wanted", "%s, not %s", b.waiter(id), want)
		}
	}
}

// port is a listener that accepts nothing until it is asked what came.
type port struct{ net.Listener }

func openPort(t *testing.T) port {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return port{ln}
}

func (p port) url() string { return "ws://" + p.Addr().String() + "/" + secretPath }

// probes counts the connections so far: those that are accepted before our own.
func (p port) probes(t *testing.T) (n int) {
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

// closedPort is the address of an agent that is gone.
func closedPort(t *testing.T) string {
	t.Helper()
	p := openPort(t)
	require.NoError(t, p.Close())
	return p.url()
}

func TestAgentThatIsGoneIsShownBeforeAnyoneAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := listen(t, closing(1000))
	addr := l.ln.Addr().String()
	d := b.dispatcher()
	ticks := b.watch(newWatcher(d))
	q := b.ask(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	ticks <- time.Time{}
	b.becomes(q.ID, schema.Listening)
	ticks <- time.Time{} // taken once the round before has ended
	ticks <- time.Time{}
	l.stop()
	before, err := b.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	ticks <- time.Time{}
	ticks <- time.Time{}
	ticks <- time.Time{}
	b.becomes(q.ID, schema.Lost)
	after, err := b.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	require.Equal(t, before.Version+1, after.Version, "said once")
	require.Contains(t, string(after.Status), `"revision":3`)
	require.Nil(t, after.Delivery)

	listenAt(t, addr, acking(schema.AckAccepted))
	ticks <- time.Time{}
	b.becomes(q.ID, schema.Listening)
	q, err = b.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	b.start(d)
	d.Dispatch(b.answer(q))
	b.status(q.ID, in(schema.Acked))
}

func TestOneRefusalIsNotTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := listen(t, closing(1000))
	addr := l.ln.Addr().String()
	w := newWatcher(b.dispatcher())
	id := b.ask(store.NewQuestion{URL: l.url(), Protocol: 2}, "").ID
	for range 3 {
		b.rounds(w, 1)
		require.Equal(t, schema.Listening, b.waiter(id))
		l.stop()
		b.rounds(w, 1)
		require.Equal(t, schema.Listening, b.waiter(id))
		l = listenAt(t, addr, closing(1000))
	}
}

func TestWhoIsNotProbed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := openPort(t)
	own, err := NewDialPolicy(DialPolicyConfig{OwnPorts: []uint16{uint16(p.Addr().(*net.TCPAddr).Port)}})
	require.NoError(t, err)
	gone := closedPort(t)
	for name, c := range map[string]struct {
		ask    store.NewQuestion
		adjust func(*Dispatcher)
	}{
		"version 1 prints a traceback": {ask: store.NewQuestion{URL: p.url(), Protocol: 1}},
		"the agent pulls":              {ask: store.NewQuestion{Protocol: 2}},
		"a blocked address":            {ask: store.NewQuestion{URL: p.url(), Protocol: 2}, adjust: func(d *Dispatcher) { d.DialPolicy = own }},
		"its POST has no response yet": {ask: store.NewQuestion{URL: p.url(), Protocol: 2}, adjust: func(d *Dispatcher) {
			d.AwaitResponseSent = func(ctx context.Context, _ schema.EventID) error { <-ctx.Done(); return ctx.Err() }
		}},
		"gone and its POST has no response yet": {ask: store.NewQuestion{URL: gone, Protocol: 2}, adjust: func(d *Dispatcher) {
			d.AwaitResponseSent = func(context.Context, schema.EventID) error { return context.Canceled }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := b.dispatcher()
			if c.adjust != nil {
				c.adjust(d)
			}
			q := b.ask(c.ask, "")
			b.rounds(newWatcher(d), 3)
			require.Empty(t, b.waiter(q.ID))
			require.Zero(t, p.probes(t))
			b.answer(q) // out of the next one's way
		})
	}
	b.rounds(newWatcher(b.dispatcher()), 3)
	require.Zero(t, p.probes(t), "nobody is pending")
}

func TestOneProbeForAllQuestionsOfAnAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := openPort(t)
	w := newWatcher(b.dispatcher())
	for range 20 {
		b.ask(store.NewQuestion{URL: p.url(), Protocol: 2}, "")
	}
	b.rounds(w, 1)
	require.Equal(t, 1, p.probes(t))
	for id := schema.EventID(1); id <= 20; id++ {
		require.Equal(t, schema.Listening, b.waiter(id))
	}
	b.rounds(w, 3)
	require.Equal(t, 3, p.probes(t))
}

func TestEveryQuestionHasItsTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone := closedPort(t)
	var asked []schema.EventID
	for range 5 {
		asked = append(asked, b.ask(store.NewQuestion{URL: gone, Protocol: 2}, "").ID)
	}
	w := newWatcher(b.dispatcher())
	w.perRound = 2 // a pass is three rounds
	for _, lost := range []int{0, 0, 0, 2, 4, 5, 5} {
		b.rounds(w, 1)
		for i, id := range asked {
			require.Equal(t, i < lost, b.waiter(id) == schema.Lost, "question %d", i)
		}
	}
	require.Len(t, w.refused, 2+2+1)
}

func TestManyAgentsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := newWatcher(b.dispatcher())
	want := map[schema.EventID]schema.Waiter{}
	for range 3 * watchedAtATime {
		want[b.ask(store.NewQuestion{URL: openPort(t).url(), Protocol: 2}, "").ID] = schema.Listening
	}
	for range 3 * watchedAtATime {
		want[b.ask(store.NewQuestion{URL: closedPort(t), Protocol: 2}, "").ID] = schema.Lost
	}
	b.rounds(w, 2)
	for id, waiter := range want {
		require.Equal(t, waiter, b.waiter(id))
	}
}

func TestNewAddressIsLookedAtAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := newWatcher(b.dispatcher())
	const key = "again"
	post := func(url string) schema.EventID {
		q := b.draft(store.NewQuestion{URL: url, Protocol: 2}, "")
		q.Key = key
		r, err := b.store.Append(t.Context(), q)
		require.NoError(t, err)
		return r.Event.ID
	}
	id := post(closedPort(t))
	b.rounds(w, 1)
	post(closedPort(t))
	b.rounds(w, 1)
	require.NotEqual(t, schema.Lost, b.waiter(id), "each address refused once")
	b.rounds(w, 1)
	require.Equal(t, schema.Lost, b.waiter(id))
	post(openPort(t).url())
	b.rounds(w, 1)
	require.Equal(t, schema.Listening, b.waiter(id))
}

func TestWhatAProbeFoundTooLateIsNotSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := newWatcher(b.dispatcher())
	q := b.ask(store.NewQuestion{URL: closedPort(t), Protocol: 2}, "")
	seen, err := b.store.Listeners(t.Context(), 0, 1)
	require.NoError(t, err)
	require.Len(t, seen, 1)
	b.answer(q)
	require.NoError(t, w.tell(t.Context(), seen[0], schema.Lost))
	after, err := b.store.Question(t.Context(), q.ID)
	require.NoError(t, err)
	require.NotContains(t, string(after.Status), "waiter")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to, err := w.DialPolicy.parse(q.URL)
	require.NoError(t, err)
	require.Equal(t, schema.Unknown, w.probe(ctx, to), "a probe that was cut off proves nothing")
}

func TestWatcherComplainsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.dispatcher()
	ticks := b.watch(newWatcher(d))
	require.NoError(t, b.store.Close())
	for range 4 {
		ticks <- time.Time{}
	}
	require.Equal(t, 1, strings.Count(b.log.String(), "looking for agents that are gone"))
}

func TestWatchStopsWithItsContext(t *testing.T) {
	t.Parallel()
	d := setup(t).dispatcher()
	require.Equal(t, 5*time.Second, d.WatchEvery, "the documented default")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.Watch(ctx), context.Canceled)
}
