package delivery

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func TestRetriesUntilTheAgentListens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone := listen(t, closing(1000))
	addr := gone.ln.Addr().String()
	gone.stop()
	d := b.dispatcher()
	naps := make(chan time.Duration, 100)
	ticks := make(chan time.Time)
	d.after = func(nap time.Duration) <-chan time.Time { naps <- nap; return ticks }
	b.start(d)
	id := b.answered(store.NewQuestion{URL: gone.url(), Protocol: 1}, "")
	d.Dispatch(id)

	pauses := append(slices.Clone(delays), delays[len(delays)-1])
	for i, pause := range pauses {
		st, _ := b.status(id, attempted(i+1))
		require.Equal(t, schema.Unreachable, st.Delivery.State)
		require.Equal(t, "connection refused at "+addr, st.Delivery.LastError)
		require.EqualValues(t, b.now.Load()+pause.Milliseconds(), st.Delivery.NextAttemptAt)
		for nap := time.Duration(-1); nap != pause; { // the loop sleeps until the next attempt is due
			nap = <-naps
		}
		b.advance(pause)
		if i == len(pauses)-1 {
			listenAt(t, addr, closing(1000))
		}
		ticks <- time.Time{}
	}
	st, _ := b.status(id, in(schema.Delivered))
	require.Equal(t, len(pauses)+1, st.Delivery.Attempts)
	require.Empty(t, st.Delivery.LastError)
}

// TestRetriesGetSlow: an agent that is gone for days must not fill the log.
func TestRetriesGetSlow(t *testing.T) {
	t.Parallel()
	d := setup(t).dispatcher()
	var eager time.Duration
	for n := 1; d.delay(n) != slow; n++ {
		eager += d.delay(n)
	}
	require.InDelta(t, 5*time.Minute, eager, float64(30*time.Second))
	require.Equal(t, slow, d.delay(10_000))
}

func TestGivesUpAtTheEnd(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[int]schema.DeliveryState{1: schema.Unreachable, 2: schema.Unconfirmed} {
		b := setup(t)
		l := listen(t, closing(1011))
		if protocol == 1 {
			l.stop()
		}
		d := b.dispatcher()
		b.start(d)
		id := b.answered(store.NewQuestion{URL: l.url(), Protocol: protocol}, "")
		d.Dispatch(id)
		b.status(id, attempted(1))
		b.advance(time.Hour - 100*time.Millisecond)
		d.poke()
		st, q := b.status(id, attempted(2))
		require.Equal(t, want, st.Delivery.State)
		require.Zero(t, st.Delivery.NextAttemptAt, "the next attempt would be too late")
		require.True(t, q.Delivery.Due.IsZero())
	}
}

func TestOverWhileTheHubWasDown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := listen(t, acking(schema.AckAccepted))
	id := b.answered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	b.reopen()
	b.advance(2 * time.Hour)
	b.start(b.dispatcher())
	st, _ := b.status(id, in(schema.Unreachable))
	require.Zero(t, st.Delivery.NextAttemptAt)
	dials, _ := l.counts()
	require.Zero(t, dials)
}

func TestAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v1, v2 := listen(t, closing(1000)), listen(t, acking(schema.AckAccepted))
	fresh := b.answered(store.NewQuestion{URL: v1.url(), Protocol: 1}, "")
	acks := b.answered(store.NewQuestion{URL: v2.url(), Protocol: 2}, "")
	sent := b.answered(store.NewQuestion{URL: v1.url(), Protocol: 1}, "")
	q, err := b.store.Question(t.Context(), sent)
	require.NoError(t, err)
	_, err = b.dispatcher().markSent(t.Context(), q, 1)
	require.NoError(t, err)

	b.reopen()
	b.start(b.dispatcher())
	b.status(fresh, in(schema.Delivered))
	b.status(acks, in(schema.Acked))
	st, _ := b.status(sent, in(schema.Unconfirmed))
	require.Zero(t, st.Delivery.NextAttemptAt)
	require.Equal(t, 1, st.Delivery.Attempts)
	dials, frames := v1.counts()
	require.Equal(t, 1, dials, "the one that may have been sent was dialled again")
	require.Equal(t, 1, frames)
}

func TestStopLeavesTheRowDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	arrived := make(chan struct{}, 2)
	l := listen(t, func(p *peerConn) {
		p.upgrade()
		_, payload, _ := p.read()
		arrived <- struct{}{}
		if _, frames := p.l.counts(); frames == 1 {
			p.hang()
			return
		}
		p.ack(payload, schema.AckDuplicate)
		p.bye(1000)
	})
	d := b.dispatcher()
	d.timing.ack = time.Minute
	stop := b.start(d)
	id := b.answered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	d.Dispatch(id)
	<-arrived
	stop()
	d.Dispatch(id) // too late: ignored
	st, q := b.status(id, func(*schema.Delivery) bool { return true })
	require.Equal(t, schema.Queued, st.Delivery.State)
	require.True(t, due(q, b.clock()))

	b.reopen()
	b.start(b.dispatcher())
	b.status(id, in(schema.Acked))
	require.Equal(t, l.answer(0).AnswerID, l.answer(1).AnswerID)
}

func TestStopWaitsForVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	read, stopping := make(chan struct{}), make(chan struct{})
	l := listen(t, func(p *peerConn) {
		p.upgrade()
		_, _, _ = p.read()
		close(read)
		<-stopping
		p.bye(1000)
	})
	d := b.dispatcher()
	d.timing.silence = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = d.Run(ctx) }()
	id := b.answered(store.NewQuestion{URL: l.url(), Protocol: 1}, "")
	d.Dispatch(id)
	<-read
	cancel()
	close(stopping)
	<-ended
	st, _ := b.status(id, func(*schema.Delivery) bool { return true })
	require.Equal(t, schema.Delivered, st.Delivery.State)
}

func TestNothingBeforeThePostIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := listen(t, closing(1000))
	d := b.dispatcher()
	asked, posted := make(chan struct{}), make(chan struct{})
	d.AwaitResponseSent = func(ctx context.Context, _ schema.EventID) error {
		close(asked)
		select {
		case <-posted:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.start(d)
	id := b.answered(store.NewQuestion{URL: l.url(), Protocol: 1}, "")
	d.Dispatch(id)
	<-asked
	dials, _ := l.counts()
	require.Zero(t, dials)
	close(posted)
	b.status(id, in(schema.Delivered))
}

func TestPerListenerLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const many = 20
	open := make(chan struct{})
	arrived := make(chan struct{}, many)
	hangs := listen(t, func(p *peerConn) { arrived <- struct{}{}; <-open; acking(schema.AckAccepted)(p) })
	other := listen(t, acking(schema.AckAccepted))
	d := b.dispatcher()
	d.timing.dial = time.Minute
	b.start(d)
	ids := make([]schema.EventID, many)
	for i := range ids {
		ids[i] = b.answered(store.NewQuestion{URL: hangs.url(), Protocol: 2}, "")
		d.Dispatch(ids[i])
	}
	for range perListener {
		<-arrived
	}
	free := b.answered(store.NewQuestion{URL: other.url(), Protocol: 2}, "")
	d.Dispatch(free)
	b.status(free, in(schema.Acked))
	dials, _ := hangs.counts()
	require.Equal(t, perListener, dials)
	close(open)
	for _, id := range ids {
		b.status(id, in(schema.Acked))
	}
	dials, _ = hangs.counts()
	require.Equal(t, many, dials)
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const many = 40
	listeners := make([]*listener, 10)
	for i := range listeners {
		listeners[i] = listen(t, acking(schema.AckAccepted))
	}
	ids := make([]schema.EventID, many)
	for i := range ids {
		ids[i] = b.answered(store.NewQuestion{URL: listeners[i%len(listeners)].url(), Protocol: 2}, "")
	}
	b.advance(2 * lease)
	d := b.dispatcher()
	d.Workers = 3
	b.start(d)
	for _, id := range ids {
		b.status(id, in(schema.Acked))
	}
	for _, l := range listeners {
		dials, _ := l.counts()
		require.Equal(t, many/len(listeners), dials)
	}
}

func TestDispatchTwiceIsOneAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := listen(t, acking(schema.AckAccepted))
	d := b.dispatcher()
	id := b.answered(store.NewQuestion{URL: l.url(), Protocol: 2}, "")
	for range 10 {
		d.Dispatch(id)
	}
	b.start(d)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { d.Dispatch(id) })
	}
	b.status(id, in(schema.Acked))
	all.Wait()
	dials, _ := l.counts()
	require.Equal(t, 1, dials)
}
