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

// orphans is what a hub was told to end.
type orphans struct {
	b     *bench
	fails int // this many times, first

	mu    sync.Mutex
	calls int
}

func (o *orphans) end(ctx context.Context, id schema.EventID, url string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls++; o.calls <= o.fails {
		return errors.New("the disk is on fire")
	}
	q, err := o.b.store.Question(ctx, id)
	if err != nil || q.URL != url || q.State != schema.Pending {
		return err
	}
	o.b.answer(q)
	return nil
}

func (o *orphans) called() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls
}

// lifelines runs Lifelines until the test ends.
func (b *bench) lifelines(change ...func(*Dispatcher, *orphans)) (*Dispatcher, *orphans) {
	d, o := b.dispatcher(), &orphans{b: b}
	d.Abandon = o.end
	for _, c := range change {
		c(d, o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.RunLiveness(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		require.ErrorIs(b.t, <-ended, context.Canceled)
	})
	return d, o
}

// quickly makes pauses short.
func quickly(d *Dispatcher, _ *orphans) { before(func() {})(d, nil) }

// before has f called before each pause, which is short.
func before(f func()) func(*Dispatcher, *orphans) {
	return func(d *Dispatcher, _ *orphans) {
		d.after = func(time.Duration) <-chan time.Time {
			f()
			return time.After(time.Millisecond)
		}
	}
}

func (b *bench) pending(id schema.EventID) bool {
	b.t.Helper()
	q, err := b.store.Question(b.t.Context(), id)
	require.NoError(b.t, err)
	return q.State == schema.Pending
}

// ends waits for the question's end.
func (b *bench) ends(id schema.EventID) {
	b.t.Helper()
	timeout := time.After(patience)
	for {
		changed := b.notified()
		if !b.pending(id) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(b.t, "the question does not end")
		}
	}
}

// accepting takes connections at addr and gives each to do, until stop.
func accepting(t *testing.T, addr string, do func(net.Conn)) (url string, stop func()) {
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
	stop = sync.OnceFunc(func() { // as the kernel does it for a process that dies
		_ = ln.Close()
		serving.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	t.Cleanup(stop)
	return port{ln}.url(), stop
}

var lifelined = store.NewQuestion{Protocol: 2, Lifeline: store.ByListener}

func at(url string) store.NewQuestion {
	a := lifelined
	a.URL = url
	return a
}

func TestAQuestionEndsWithItsAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held := make(chan struct{}, 10)
	url, stop := accepting(t, "127.0.0.1:0", func(net.Conn) { held <- struct{}{} })
	left := b.ask(at(closedPort(t)), "").ID // its agent went while no hub ran
	d, _ := b.lifelines()
	b.ends(left)
	id := b.ask(at(url), "").ID
	d.Lifeline()
	<-held
	before := time.Now()
	stop()
	b.ends(id)
	require.Less(t, time.Since(before), 5*time.Second)
	require.Empty(t, held, "one connection was enough")
}

// TestASlowAgentIsNotGone: whatever a listener does with a connection, somebody
// listens.
func TestASlowAgentIsNotGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turns := make(chan struct{}, 1000)
	hangsUp, stop := accepting(t, "127.0.0.1:0", func(c net.Conn) { _ = c.Close(); turns <- struct{}{} })
	talks, _ := accepting(t, "127.0.0.1:0", func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 408 Request Timeout\r\n\r\n")) })
	silent, _ := accepting(t, "127.0.0.1:0", func(net.Conn) {})
	asleep := openPort(t).url() // accepts nothing, as a stopped process does
	ids := []schema.EventID{b.ask(at(hangsUp), "").ID}
	for _, url := range []string{talks, silent, asleep} {
		ids = append(ids, b.ask(at(url), "").ID)
	}
	_, o := b.lifelines(quickly)
	for range 50 {
		<-turns
	}
	require.Zero(t, o.called())
	stop()
	b.ends(ids[0])
	for _, id := range ids[1:] {
		require.True(t, b.pending(id))
	}
}

// TestWhatIsNoRefusal: nobody knows whether an agent that can't be reached is gone.
func TestWhatIsNoRefusal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	allowed, err := NewDialPolicy(DialPolicyConfig{Allow: []string{"ws://agent.invalid"}}) // a name that nobody has
	require.NoError(t, err)
	id := b.ask(at("ws://agent.invalid:50123/"+secretPath), "").ID
	turns := make(chan struct{}, 1000)
	_, o := b.lifelines(before(func() { turns <- struct{}{} }), func(d *Dispatcher, _ *orphans) { d.DialPolicy = allowed })
	for range 4 {
		<-turns
	}
	require.Zero(t, o.called())
	require.True(t, b.pending(id))
}

func TestOneRefusalIsNotTheAgentsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := openPort(t)
	addr := p.Addr().String()
	require.NoError(t, p.Close())
	held := make(chan struct{}, 1)
	id := b.ask(at(p.url()), "").ID
	_, o := b.lifelines(before(sync.OnceFunc(func() {
		accepting(t, addr, func(net.Conn) { held <- struct{}{} })
	})))
	<-held
	require.Zero(t, o.called())
	require.True(t, b.pending(id))
}

func TestWhoHasNoLifeline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := openPort(t)
	own, err := NewDialPolicy(DialPolicyConfig{OwnPorts: []uint16{uint16(p.Addr().(*net.TCPAddr).Port)}})
	require.NoError(t, err)
	var ids []schema.EventID
	for _, ask := range []store.NewQuestion{
		at(p.url()), // blocked
		{URL: closedPort(t), Protocol: 2},
		{Protocol: 2, Lifeline: store.ByRequest},
	} {
		ids = append(ids, b.ask(ask, "").ID)
	}
	b.answer(b.ask(at(closedPort(t)), "")) // has its end
	d, o := b.lifelines(quickly, func(d *Dispatcher, _ *orphans) { d.DialPolicy = own })
	gone := b.ask(at(closedPort(t)), "").ID
	d.Lifeline()
	b.ends(gone)
	for _, id := range ids {
		require.True(t, b.pending(id))
	}
	require.Equal(t, 1, o.called())
	require.Zero(t, p.probes(t))
}

// TestNobodyIsHeldBeforeItsPostWasAnswered: one that blocks in its POST may listen
// only then.
func TestNobodyIsHeldBeforeItsPostWasAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	waits, posted := make(chan struct{}), make(chan struct{})
	id := b.ask(at(closedPort(t)), "").ID
	_, o := b.lifelines(quickly, func(d *Dispatcher, _ *orphans) {
		d.AwaitResponseSent = func(context.Context, schema.EventID) error {
			close(waits)
			<-posted
			return nil
		}
	})
	<-waits
	require.Zero(t, o.called())
	close(posted)
	b.ends(id)
}

// TestLifelinesTakeTurns: more than may be held at a time still end.
func TestLifelinesTakeTurns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	url, stop := accepting(t, "127.0.0.1:0", func(c net.Conn) { _ = c.Close() })
	var ids []schema.EventID
	for range 7 {
		ids = append(ids, b.ask(at(url), "").ID)
	}
	b.lifelines(quickly, func(d *Dispatcher, _ *orphans) { d.held = 2 })
	stop()
	for _, id := range ids {
		b.ends(id)
	}
}

// TestLifelinesAreFew: no more are held at a time than may be.
func TestLifelinesAreFew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conns := make(chan net.Conn, 20)
	url, _ := accepting(t, "127.0.0.1:0", func(c net.Conn) { conns <- c })
	for range 7 {
		b.ask(at(url), "")
	}
	b.lifelines(quickly, func(d *Dispatcher, _ *orphans) { d.held = 2 })
	<-conns
	for range 5 {
		c := <-conns
		own, err := net.Dial("tcp", c.LocalAddr().String())
		require.NoError(t, err)
		last := <-conns
		require.Equal(t, own.LocalAddr().String(), last.RemoteAddr().String(), "a third one is held")
		require.NoError(t, own.Close())
		require.NoError(t, c.Close())
	}
}

// TestAMovedAgentIsNotGone: a repeat of its question names another listener.
func TestAMovedAgentIsNotGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held := make(chan struct{}, 1)
	there, stop := accepting(t, "127.0.0.1:0", func(net.Conn) { held <- struct{}{} })
	first := b.draft(at(closedPort(t)), "")
	first.Key = "again"
	r, err := b.store.Append(t.Context(), first)
	require.NoError(t, err)
	b.lifelines(before(sync.OnceFunc(func() {
		second := b.draft(at(there), "")
		second.Key = first.Key
		if _, err := b.store.Append(context.Background(), second); err != nil {
			t.Error(err)
		}
	})))
	<-held
	require.True(t, b.pending(r.Event.ID))
	stop()
	b.ends(r.Event.ID)
}

func TestAnEndThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.ask(at(closedPort(t)), "").ID
	_, o := b.lifelines(quickly, func(_ *Dispatcher, o *orphans) { o.fails = 2 })
	b.ends(id)
	require.Equal(t, 3, o.called())
	require.Equal(t, 2, strings.Count(b.log.String(), "ending a question whose agent is gone"))
}

func TestLifelinesComplainOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.store.Close())
	tries := make(chan struct{}, 1000)
	b.lifelines(before(func() { tries <- struct{}{} }))
	for range 4 {
		<-tries
	}
	require.Equal(t, 1, strings.Count(b.log.String(), "looking for questions with a lifeline"))
}

// TestNobodyMissesAnEndThatTheAgentDecided: a hook that its agent has ended is not
// told, and that is nobody's worry. One that is still there is told.
func TestNobodyMissesAnEndThatTheAgentDecided(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.dispatcher()
	b.start(d)
	l := listen(t, acking(schema.AckAccepted))
	for url, want := range map[string]schema.DeliveryState{closedPort(t): schema.NoDelivery, l.url(): schema.Acked} {
		q := b.ask(store.NewQuestion{URL: url, Protocol: 2}, "")
		id := b.answer(q)
		q, err := b.store.Question(t.Context(), id)
		require.NoError(t, err)
		_, err = d.change(t.Context(), q, nil, func(st *schema.Status) { st.Outcome, st.Source = schema.Cancelled, schema.ByAgent })
		require.NoError(t, err)
		d.Dispatch(id)
		st, q := b.status(id, in(want))
		require.Equal(t, 1, st.Delivery.Attempts)
		require.True(t, q.Delivery.Due.IsZero())
		require.False(t, q.Delivery.Undelivered())
	}
}
