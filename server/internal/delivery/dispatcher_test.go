package delivery

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestDispatcher_RetriesUntilAgentListens(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stopped := startListener(t, closeWith(1000))
	addr := stopped.ln.Addr().String()
	stopped.stop()
	d := h.dispatcher()
	waits := make(chan time.Duration, 100)
	ticks := make(chan time.Time)
	d.after = func(wait time.Duration) <-chan time.Time { waits <- wait; return ticks }
	h.startDispatcher(d)
	id := h.addAnswered(store.NewQuestion{URL: stopped.url(), Protocol: 1}, "")

	pauses := append(slices.Clone(retryDelays), retryDelays[len(retryDelays)-1])
	for i, pause := range pauses {
		st, _ := h.waitForDelivery(id, hasAttempts(i+1))
		require.Equal(t, schema.Unreachable, st.Delivery.State)
		require.Equal(t, "connection refused at "+addr, st.Delivery.LastError)
		require.EqualValues(t, h.now.Load()+pause.Milliseconds(), st.Delivery.NextAttemptAt)
		for wait := time.Duration(-1); wait != pause; { // the loop sleeps until the next attempt is due
			wait = <-waits
		}
		h.advance(pause)
		if i == len(pauses)-1 {
			startListenerAt(t, addr, closeWith(1000))
		}
		ticks <- time.Time{}
	}
	st, _ := h.waitForDelivery(id, inState(schema.Delivered))
	require.Equal(t, len(pauses)+1, st.Delivery.Attempts)
	require.Empty(t, st.Delivery.LastError)
}

// TestRetryDelay_SlowsAfterFiveMinutes: an agent that is gone for days must not fill the log.
func TestRetryDelay_SlowsAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	d := newHarness(t).dispatcher()
	var total time.Duration
	for n := 1; d.retryDelay(n) != slowRetryDelay; n++ {
		total += d.retryDelay(n)
	}
	require.InDelta(t, 5*time.Minute, total, float64(30*time.Second))
	require.Equal(t, slowRetryDelay, d.retryDelay(10_000))
}

func TestDispatcher_GivesUpAfterRetryWindow(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[int]schema.DeliveryState{1: schema.Unreachable, 2: schema.Unconfirmed} {
		h := newHarness(t)
		l := startListener(t, closeWith(1011))
		if protocol == 1 {
			l.stop()
		}
		d := h.dispatcher()
		h.startDispatcher(d)
		id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: protocol}, "")
		h.waitForDelivery(id, hasAttempts(1))
		h.advance(time.Hour - 100*time.Millisecond)
		h.poll()
		st, q := h.waitForDelivery(id, hasAttempts(2))
		require.Equal(t, want, st.Delivery.State)
		require.Zero(t, st.Delivery.NextAttemptAt, "the next attempt would be too late")
		require.True(t, q.Delivery.Due.IsZero())
	}
}

func TestDispatcher_GivesUpIfWindowEndedWhileDown(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, acknowledge(schema.AckAccepted))
	id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	h.reopen()
	h.advance(2 * time.Hour)
	h.startDispatcher(h.dispatcher())
	st, _ := h.waitForDelivery(id, inState(schema.Unreachable))
	require.Zero(t, st.Delivery.NextAttemptAt)
	dials, _ := l.counts()
	require.Zero(t, dials)
}

func TestDispatcher_ResumesAfterCrash(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	v1, v2 := startListener(t, closeWith(1000)), startListener(t, acknowledge(schema.AckAccepted))
	fresh := h.addAnswered(store.NewQuestion{URL: v1.url(), Protocol: 1}, "")
	acks := h.addAnswered(store.NewQuestion{URL: v2.url(), Protocol: 2}, "")
	sent := h.addAnswered(store.NewQuestion{URL: v1.url(), Protocol: 1}, "")
	q, err := h.store.Question(t.Context(), sent)
	require.NoError(t, err)
	_, err = h.dispatcher().markSent(t.Context(), q, 1)
	require.NoError(t, err)

	h.reopen()
	h.startDispatcher(h.dispatcher())
	h.waitForDelivery(fresh, inState(schema.Delivered))
	h.waitForDelivery(acks, inState(schema.Acked))
	st, _ := h.waitForDelivery(sent, inState(schema.Unconfirmed))
	require.Zero(t, st.Delivery.NextAttemptAt)
	require.Equal(t, 1, st.Delivery.Attempts)
	dials, frames := v1.counts()
	require.Equal(t, 1, dials, "the answer that may have been sent was dialed again")
	require.Equal(t, 1, frames)
}

func TestDispatcher_StopKeepsDeliveryDue(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	arrived := make(chan struct{}, 2)
	l := startListener(t, func(p *peerConn) {
		p.upgrade()
		_, payload, _ := p.read()
		arrived <- struct{}{}
		if _, frames := p.l.counts(); frames == 1 {
			p.hang()
			return
		}
		p.ack(payload, schema.AckDuplicate)
		p.sendClose(1000)
	})
	d := h.dispatcher()
	d.timeouts.ack = time.Minute
	stop := h.startDispatcher(d)
	id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	<-arrived
	stop()
	h.redispatch(id) // ignored after the stop
	st, q := h.waitForDelivery(id, func(*schema.Delivery) bool { return true })
	require.Equal(t, schema.Queued, st.Delivery.State)
	require.True(t, isDue(q, h.clock()))

	h.reopen()
	h.startDispatcher(h.dispatcher())
	h.waitForDelivery(id, inState(schema.Acked))
	require.Equal(t, l.answer(0).AnswerID, l.answer(1).AnswerID)
}

func TestDispatcher_StopWaitsForV1Send(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	read, stopping := make(chan struct{}), make(chan struct{})
	l := startListener(t, func(p *peerConn) {
		p.upgrade()
		_, _, _ = p.read()
		close(read)
		<-stopping
		p.sendClose(1000)
	})
	d := h.dispatcher()
	d.timeouts.idle = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 1}, "")
	<-read
	cancel()
	close(stopping)
	<-ended
	st, _ := h.waitForDelivery(id, func(*schema.Delivery) bool { return true })
	require.Equal(t, schema.Delivered, st.Delivery.State)
}

func TestDispatcher_WaitsForPostResponse(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, closeWith(1000))
	d := h.dispatcher()
	awaited, responded := make(chan struct{}), make(chan struct{})
	d.Hub.(*fakeHub).await = func(ctx context.Context, _ schema.EventID) error {
		close(awaited)
		select {
		case <-responded:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.startDispatcher(d)
	id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 1}, "")
	<-awaited
	dials, _ := l.counts()
	require.Zero(t, dials)
	close(responded)
	h.waitForDelivery(id, inState(schema.Delivered))
}

func TestDispatcher_LimitsAttemptsPerListener(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const many = 20
	open := make(chan struct{})
	arrived := make(chan struct{}, many)
	hangs := startListener(t, func(p *peerConn) { arrived <- struct{}{}; <-open; acknowledge(schema.AckAccepted)(p) })
	other := startListener(t, acknowledge(schema.AckAccepted))
	d := h.dispatcher()
	d.timeouts.dial = time.Minute
	h.startDispatcher(d)
	ids := make([]schema.EventID, many)
	for i := range ids {
		ids[i] = h.addAnswered(store.NewQuestion{URL: hangs.url(), Protocol: 2}, "")
	}
	requireArrivals(t, arrived, maxPerListener)
	free := h.addAnswered(store.NewQuestion{URL: other.url(), Protocol: 2}, "")
	h.waitForDelivery(free, inState(schema.Acked))
	dials, _ := hangs.counts()
	require.Equal(t, maxPerListener, dials)
	close(open)
	for _, id := range ids {
		h.waitForDelivery(id, inState(schema.Acked))
	}
	dials, _ = hangs.counts()
	require.Equal(t, many, dials)
}

func requireArrivals(t *testing.T, arrived <-chan struct{}, n int) {
	t.Helper()
	timeout := time.After(waitLimit)
	for i := range n {
		select {
		case <-arrived:
		case <-timeout:
			require.FailNow(t, "too few attempts", "%d of %d", i, n)
		}
	}
}

// byPath returns a script that runs hangs at the path /hangs and acknowledges at every other one.
func byPath(hangs func(*peerConn)) func(*peerConn) {
	return func(p *peerConn) {
		if p.req.URL.Path == "/hangs" {
			hangs(p)
		} else {
			acknowledge(schema.AckAccepted)(p)
		}
	}
}

// Agents that share a port do not wait for the acknowledgements of the others.
func TestDispatcher_MissingAcknowledgementDelaysNoOther(t *testing.T) {
	t.Parallel()
	const silent, healthy = 8, 40
	h := newHarness(t)
	arrived := make(chan struct{}, silent)
	l := startListener(t, byPath(func(p *peerConn) {
		p.upgrade()
		_, _, _ = p.read()
		arrived <- struct{}{}
		p.hang()
	}))
	base := "ws://" + l.ln.Addr().String()
	d := h.dispatcher()
	d.Workers = silent // as many as wait for an acknowledgement
	stop := h.startDispatcher(d)
	defer stop() // ends the attempts that wait
	waiting := make([]schema.EventID, silent)
	for i := range waiting {
		waiting[i] = h.addAnswered(store.NewQuestion{URL: base + "/hangs", Protocol: 2}, "")
	}
	requireArrivals(t, arrived, silent)
	for i := range healthy {
		id := h.addAnswered(store.NewQuestion{URL: fmt.Sprintf("%s/%d", base, i), Protocol: 2}, "")
		h.waitForDelivery(id, inState(schema.Acked))
	}
	for _, id := range waiting {
		h.waitForDelivery(id, inState(schema.Queued))
	}
}

// An agent whose listener does not even complete the handshake keeps its own slots busy, and not
// the ones of another path of the port.
func TestDispatcher_LimitsAttemptsByPath(t *testing.T) {
	t.Parallel()
	const hanging = 2 * maxPerListener
	h := newHarness(t)
	open, arrived := make(chan struct{}), make(chan struct{}, hanging)
	l := startListener(t, byPath(func(p *peerConn) { arrived <- struct{}{}; <-open; acknowledge(schema.AckAccepted)(p) }))
	base := "ws://" + l.ln.Addr().String()
	answer := sync.OnceFunc(func() { close(open) })
	t.Cleanup(answer) // before the listener stops
	h.startDispatcher(h.dispatcher())
	ids := make([]schema.EventID, hanging)
	for i := range ids {
		ids[i] = h.addAnswered(store.NewQuestion{URL: base + "/hangs", Protocol: 2}, "")
	}
	requireArrivals(t, arrived, maxPerListener)
	h.waitForDelivery(h.addAnswered(store.NewQuestion{URL: base + "/healthy", Protocol: 2}, ""), inState(schema.Acked))
	answer()
	for _, id := range ids {
		h.waitForDelivery(id, inState(schema.Acked))
	}
}

// Many paths of one port that all hang leave workers to other hosts.
func TestDispatcher_LimitsAttemptsByHost(t *testing.T) {
	t.Parallel()
	const hanging = maxPerHost + 8
	h := newHarness(t)
	open, arrived := make(chan struct{}), make(chan struct{}, hanging)
	hangs := startListener(t, func(p *peerConn) { arrived <- struct{}{}; <-open; acknowledge(schema.AckAccepted)(p) })
	other := startListener(t, acknowledge(schema.AckAccepted))
	answer := sync.OnceFunc(func() { close(open) })
	t.Cleanup(answer) // before the listener stops
	h.startDispatcher(h.dispatcher())
	ids := make([]schema.EventID, hanging)
	for i := range ids {
		ids[i] = h.addAnswered(store.NewQuestion{URL: fmt.Sprintf("%s/%d", hangs.url(), i/2), Protocol: 2}, "")
	}
	requireArrivals(t, arrived, maxPerHost)
	h.waitForDelivery(h.addAnswered(store.NewQuestion{URL: other.url(), Protocol: 2}, ""), inState(schema.Acked))
	dials, _ := hangs.counts()
	require.Equal(t, maxPerHost, dials)
	answer()
	for _, id := range ids {
		h.waitForDelivery(id, inState(schema.Acked))
	}
}

// A delivery that is given the slot of another one and needs it no more passes it on.
func TestDispatcher_PassesUnneededSlotsOn(t *testing.T) {
	t.Parallel()
	const many = 3 * maxPerListener
	h := newHarness(t)
	open, arrived := make(chan struct{}), make(chan struct{}, many)
	l := startListener(t, func(p *peerConn) { arrived <- struct{}{}; <-open; acknowledge(schema.AckAccepted)(p) })
	answer := sync.OnceFunc(func() { close(open) })
	t.Cleanup(answer) // before the listener stops
	d := h.dispatcher()
	h.startDispatcher(d)
	ids := make([]schema.EventID, many)
	for i := range ids {
		ids[i] = h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	}
	requireArrivals(t, arrived, maxPerListener)
	waiting := func() []schema.EventID {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(d.listeners.parked[l.url()])
	}
	require.Eventually(t, func() bool { return len(waiting()) == many-maxPerListener }, waitLimit, time.Millisecond)
	for _, id := range waiting()[:maxPerListener] { // the next ones: their agents pull the answers
		q, err := h.store.Question(t.Context(), id)
		require.NoError(t, err)
		delivery := *q.Delivery
		delivery.State = schema.Pulled
		_, err = d.applyDelivery(t.Context(), q, &delivery, &schema.Delivery{State: schema.Pulled})
		require.NoError(t, err)
	}
	answer()
	for _, id := range ids {
		h.waitForDelivery(id, inState(schema.Acked, schema.Pulled))
	}
}

func TestDispatcher_DrainsBacklog(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const many = 40
	listeners := make([]*fakeListener, 10)
	for i := range listeners {
		listeners[i] = startListener(t, acknowledge(schema.AckAccepted))
	}
	ids := make([]schema.EventID, many)
	for i := range ids {
		ids[i] = h.addAnswered(store.NewQuestion{URL: listeners[i%len(listeners)].url(), Protocol: 2}, "")
	}
	h.advance(2 * leaseDuration)
	d := h.dispatcher()
	d.Workers = 3
	h.startDispatcher(d)
	for _, id := range ids {
		h.waitForDelivery(id, inState(schema.Acked))
	}
	for _, l := range listeners {
		dials, _ := l.counts()
		require.Equal(t, many/len(listeners), dials)
	}
}

func TestDispatch_RepeatIsOneAttempt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	l := startListener(t, acknowledge(schema.AckAccepted))
	d := h.dispatcher()
	id := h.addAnswered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	for range 10 {
		h.redispatch(id)
	}
	h.startDispatcher(d)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { h.redispatch(id) })
	}
	h.waitForDelivery(id, inState(schema.Acked))
	all.Wait()
	dials, _ := l.counts()
	require.Equal(t, 1, dials)
}
