package delivery

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxLivenessConns bounds the open connections. Beyond it, questions share the slots: a
	// connection releases its slot when it ends, after timeouts.hold at the latest.
	maxLivenessConns = 1000
	// minRedialInterval is the minimum time between two connections to a listener, so that one
	// that closes immediately costs little.
	minRedialInterval = time.Second
	// refusedRetryDelay is the delay before a listener that refused is dialed again.
	refusedRetryDelay = 250 * time.Millisecond
)

// RunLiveness resolves the questions of agents that are gone and that declared they can't come
// back, until ctx ends. It keeps an idle connection to each listener. If the agent's process
// dies for any reason, the kernel closes the connection. So a waiting agent costs one idle
// connection, and a dead one is detected immediately.
//
// A listener may close a connection that sends nothing. The agent only counts as gone if the
// next two connections are refused, which happens only if no process listens on the port. An
// agent that is stopped, or too busy to accept, is not gone.
func (d *Dispatcher) RunLiveness(ctx context.Context) error {
	var holders sync.WaitGroup
	defer holders.Wait()
	slots := make(chan struct{}, d.livenessLimit) // a semaphore
	var last schema.EventID
	var lastErr string
	held := &heldQuestions{ids: map[schema.EventID]bool{}}
	hold := func(id schema.EventID) {
		if held.add(id) {
			holders.Go(func() { d.holdConnection(ctx, id, slots, held) })
		}
	}
	return d.Feed.Follow(ctx, feed.Liveness|feed.Members, func(b *feed.Batch) error {
		if b.Has(feed.Members) {
			held.round.Add(1)
			last = 0
		}
		for _, fact := range b.Facts { // also the repeat of a question that another hub stored
			if id := schema.EventID(fact.ID); fact.Kinds&feed.Liveness != 0 && id > 0 && id <= last {
				hold(id)
			}
		}
		ids, err := d.Store.Lifelines(ctx, store.ByListener, last)
		for _, id := range ids {
			last = id
			hold(id)
		}
		if text := errorText(ctx, err); text != lastErr {
			if lastErr = text; lastErr != "" {
				d.Log.Error("read of questions with a liveness connection failed", "retry_in", time.Second, "err", err)
			}
		}
		if err != nil {
			b.Timer = d.after(time.Second)
		}
		return nil
	})
}

// LivenessConnections returns the number of connections that RunLiveness holds.
func (d *Dispatcher) LivenessConnections() int { return int(d.liveness.Load()) }

// heldQuestions are the questions whose listeners RunLiveness watches.
type heldQuestions struct {
	round atomic.Int64 // incremented when duties may have changed

	mu  sync.Mutex
	ids map[schema.EventID]bool
}

// add adds a question. It returns false if it is there already.
func (h *heldQuestions) add(id schema.EventID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	isNew := !h.ids[id]
	h.ids[id] = true
	return isNew
}

// remove removes a question, unless duties may have changed since the round.
func (h *heldQuestions) remove(id schema.EventID, round int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.round.Load() != round {
		return false
	}
	delete(h.ids, id)
	return true
}

// holdConnection watches a question's listener until the question is settled or another hub's.
func (d *Dispatcher) holdConnection(ctx context.Context, id schema.EventID, slots chan struct{}, held *heldQuestions) {
	if d.Hub.AwaitResponseSent(ctx, id) != nil {
		return
	}
	var state livenessState
	for ctx.Err() == nil {
		round := held.round.Load()
		q, err := d.Store.Question(ctx, id)
		isOver := errors.Is(err, schema.ErrNotFound) || err == nil && (q.State != schema.Pending || q.Lifeline != store.ByListener)
		if !isOver && err == nil {
			duty := dutyOf(d.Store)
			isOver = !duty.includes(q.Place) || !duty.reaches(q.Place)
		}
		if isOver {
			if held.remove(id, round) {
				return
			}
			continue
		}
		pause := time.Second // delay if the store fails; RunLiveness logs that error
		if err == nil {
			if pause, err = d.holdOnce(ctx, q, &state, slots); err != nil {
				return // ctx ended
			}
		}
		select {
		case <-ctx.Done():
		case <-d.after(pause):
		}
	}
}

// livenessState is the state of a question's listener.
type livenessState struct {
	url      string
	refusals int // in a row
}

// holdOnce connects to the listener and holds the connection until it ends. It returns the delay
// before the next connection, or an error if ctx ended.
func (d *Dispatcher) holdOnce(
	ctx context.Context, q *store.Question, state *livenessState, slots chan struct{},
) (pause time.Duration, err error) {
	to, err := d.DialPolicy.checkURL(q.URL)
	if err != nil { // a repeat of the POST may name another listener, and no fact says so
		return d.ProbeInterval, nil //nolint:nilerr // the agent does not count as gone
	}
	if state.url != q.URL {
		*state = livenessState{url: q.URL}
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	start := time.Now()
	dialCtx, cancel := context.WithTimeout(ctx, d.timeouts.probe)
	conn, err := d.DialPolicy.connect(dialCtx, to)
	cancel()
	switch {
	case err == nil:
		state.refusals = 0
		d.liveness.Add(1)
		waitUntilClosed(ctx, conn, d.timeouts.hold)
		d.liveness.Add(-1)
		return max(0, minRedialInterval-time.Since(start)), nil
	case !errors.Is(err, syscall.ECONNREFUSED):
		state.refusals = 0
		return minRedialInterval, nil
	}
	if state.refusals++; state.refusals < 2 {
		return refusedRetryDelay, nil
	}
	if err := d.Hub.AbandonListener(ctx, q.ID, q.URL); err != nil && ctx.Err() == nil {
		d.Log.Error("abandoning a question failed", "event", q.ID, "retry_in", minRedialInterval, "err", err)
		return minRedialInterval, nil
	}
	return 0, nil
}

// waitUntilClosed waits until the peer closes the connection or sends anything, which it has no
// reason to do, but at most limit or until ctx ends. Then it closes the connection.
func waitUntilClosed(ctx context.Context, conn net.Conn, limit time.Duration) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	_, _ = conn.Read(make([]byte, 1))
}
