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
	lifelinesPerRead = 256
	// heldAtATime bounds the connections that are held. Beyond it questions take
	// turns: each gives its place up when its connection ends, after holdFor at the
	// latest.
	heldAtATime = 1000
	holdFor     = 30 * time.Second
	// holdEvery is the least time from one connection to a listener to the next,
	// so that one which hangs up at once costs little.
	holdEvery = time.Second
	// refusedPause is how soon a listener that refused is asked once more.
	refusedPause = 250 * time.Millisecond
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
	var holding sync.WaitGroup
	defer holding.Wait()
	places := make(chan struct{}, d.held)
	var last schema.EventID
	var failed string
	for {
		ids, err := d.Store.Lifelines(ctx, store.ByListener, last, lifelinesPerRead)
		for _, id := range ids {
			last = id
			holding.Go(func() { d.hold(ctx, id, places) })
		}
		var again <-chan time.Time
		if text := errorText(ctx, err); text != failed {
			if failed = text; failed != "" {
				d.Log.Error("looking for questions with a lifeline; trying again every second", "err", err)
			}
		}
		if err != nil {
			again = d.after(time.Second)
		}
		if len(ids) == lifelinesPerRead {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.asked:
		case <-again:
		}
	}
}

// Lifeline has Lifelines look for new questions. It does not block.
func (d *Dispatcher) Lifeline() {
	select {
	case d.asked <- struct{}{}:
	default:
	}
}

// hold stays with a question until it has its end.
func (d *Dispatcher) hold(ctx context.Context, id schema.EventID, places chan struct{}) {
	if d.AwaitResponseSent(ctx, id) != nil {
		return
	}
	var line lifeline
	for ctx.Err() == nil {
		q, err := d.Store.Question(ctx, id)
		if errors.Is(err, schema.ErrNotFound) || err == nil && q.State != schema.Pending {
			return
		}
		pause := time.Second // when the store fails; whoever else asks it says so
		if err == nil {
			if pause, err = d.pull(ctx, q, &line, places); err != nil {
				return // it may not be dialled
			}
		}
		select {
		case <-ctx.Done():
		case <-d.after(pause):
		}
	}
}

// lifeline is what is known of a question's listener.
type lifeline struct {
	url      string
	refusals int // in a row
}

// pull holds the line once and says how long to wait before it is done again.
func (d *Dispatcher) pull(ctx context.Context, q *store.Question, line *lifeline, places chan struct{}) (pause time.Duration, err error) {
	to, err := d.DialPolicy.parse(q.URL)
	if err != nil {
		return 0, err
	}
	if line.url != q.URL {
		*line = lifeline{url: q.URL}
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	began := time.Now()
	dialling, cancel := context.WithTimeout(ctx, probeWithin)
	conn, err := d.DialPolicy.connect(dialling, to)
	cancel()
	switch {
	case err == nil:
		line.refusals = 0
		untilClosed(ctx, conn)
		return max(0, holdEvery-time.Since(began)), nil
	case !errors.Is(err, syscall.ECONNREFUSED):
		line.refusals = 0
		return holdEvery, nil
	}
	if line.refusals++; line.refusals < 2 {
		return refusedPause, nil
	}
	if err := d.Abandon(ctx, q.ID, q.URL); err != nil && ctx.Err() == nil {
		d.Log.Error("ending a question whose agent is gone; trying again", "event", q.ID, "err", err)
		return holdEvery, nil
	}
	return 0, nil
}

// untilClosed returns when the peer has hung up or said something, which it has no
// reason to, after holdFor, or with ctx, and closes the connection.
func untilClosed(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(holdFor))
	_, _ = conn.Read(make([]byte, 1))
}
