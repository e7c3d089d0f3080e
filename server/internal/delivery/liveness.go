package delivery

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	livenessBatchSize = 256
	// maxLivenessConns bounds the connections that are held. Beyond it questions take
	// turns: each gives its place up when its connection ends, after maxHoldTime at the
	// latest.
	maxLivenessConns = 1000
	maxHoldTime      = 30 * time.Second
	// minRedialInterval is the least time from one connection to a listener to the next,
	// so that one which hangs up at once costs little.
	minRedialInterval = time.Second
	// refusedRetryDelay is how soon a listener that refused is asked once more.
	refusedRetryDelay = 250 * time.Millisecond
)

// RunLiveness ends the questions of agents that are gone and said that they can't come
// back, until ctx ends. It keeps a connection to each one's listener, over which
// nothing is ever sent: for a process that dies, however it does, the kernel hangs
// up. So an agent that waits costs nothing, and one that is gone is noticed at once.
//
// A listener may hang up on a connection that says nothing. What counts is that it
// refuses the next one twice: only a port that nobody listens on does. An agent that
// is stopped, or too busy to accept, is not gone.
func (d *Dispatcher) RunLiveness(ctx context.Context) error {
	var holders sync.WaitGroup
	defer holders.Wait()
	slots := make(chan struct{}, d.livenessLimit)
	var last schema.EventID
	var lastErr string
	for {
		ids, err := d.Store.Lifelines(ctx, store.ByListener, last, livenessBatchSize)
		for _, id := range ids {
			last = id
			holders.Go(func() { d.holdConnection(ctx, id, slots) })
		}
		var retry <-chan time.Time
		if text := errorText(ctx, err); text != lastErr {
			if lastErr = text; lastErr != "" {
				d.Log.Error("looking for questions with a lifeline; trying again every second", "err", err)
			}
		}
		if err != nil {
			retry = d.after(time.Second)
		}
		if len(ids) == livenessBatchSize {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.livenessWake:
		case <-retry:
		}
	}
}

// Lifeline has Lifelines look for new questions. It does not block.
func (d *Dispatcher) Lifeline() {
	select {
	case d.livenessWake <- struct{}{}:
	default:
	}
}

// holdConnection stays with a question until it has its end.
func (d *Dispatcher) holdConnection(ctx context.Context, id schema.EventID, slots chan struct{}) {
	if d.AwaitResponseSent(ctx, id) != nil {
		return
	}
	var state livenessState
	for ctx.Err() == nil {
		q, err := d.Store.Question(ctx, id)
		if errors.Is(err, schema.ErrNotFound) || err == nil && q.State != schema.Pending {
			return
		}
		pause := time.Second // when the store fails; whoever else asks it says so
		if err == nil {
			if pause, err = d.holdOnce(ctx, q, &state, slots); err != nil {
				return // it may not be dialled
			}
		}
		select {
		case <-ctx.Done():
		case <-d.after(pause):
		}
	}
}

// livenessState is what is known of a question's listener.
type livenessState struct {
	url      string
	refusals int // in a row
}

// holdOnce holds the line once and says how long to wait before it is done again.
func (d *Dispatcher) holdOnce(ctx context.Context, q *store.Question, state *livenessState, slots chan struct{}) (pause time.Duration, err error) {
	to, err := d.DialPolicy.parse(q.URL)
	if err != nil {
		return 0, err
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
	dialCtx, cancel := context.WithTimeout(ctx, probeTimeout)
	conn, err := d.DialPolicy.connect(dialCtx, to)
	cancel()
	switch {
	case err == nil:
		state.refusals = 0
		waitUntilClosed(ctx, conn)
		return max(0, minRedialInterval-time.Since(start)), nil
	case !errors.Is(err, syscall.ECONNREFUSED):
		state.refusals = 0
		return minRedialInterval, nil
	}
	if state.refusals++; state.refusals < 2 {
		return refusedRetryDelay, nil
	}
	if err := d.Abandon(ctx, q.ID, q.URL); err != nil && ctx.Err() == nil {
		d.Log.Error("ending a question whose agent is gone; trying again", "event", q.ID, "err", err)
		return minRedialInterval, nil
	}
	return 0, nil
}

// waitUntilClosed returns when the peer has hung up or said something, which it has no
// reason to, after maxHoldTime, or with ctx, and closes the connection.
func waitUntilClosed(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(maxHoldTime))
	_, _ = conn.Read(make([]byte, 1))
}
