// Package lifeline ends the questions of requests that broke off: a program waits for the answer in the
// request that asked, so nothing but the connection shows that it still waits.
package lifeline

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// The reasons of abandoned questions.
const (
	ReasonAgentGone  = schema.ReasonAgentGone
	ReasonHubStopped = "the hub stopped while the agent waited; the agent now asks in its own prompt"
)

// Hub settles questions.
type Hub interface {
	// Abandon settles a question whose agent no longer waits in the request that posted it, if url is empty.
	Abandon(ctx context.Context, id schema.EventID, url, reason string) error
}

// Config holds the dependencies of Requests. All are required.
type Config struct {
	Store interface {
		store.Questions
		store.Members
	}
	Hub Hub
	// Grace is the time in which a program whose request broke off can send it again.
	Grace time.Duration
	Log   *slog.Logger
}

// Requests counts the open requests of each question that a program may ask again over a new
// connection. The last one that ends starts the time to reconnect. Its methods are safe for concurrent
// use.
type Requests struct {
	Config
	startSeq int64 // head of the log at the start

	mu      sync.Mutex
	open    map[schema.EventID]int
	timers  map[schema.EventID]*time.Timer
	stopped bool // the hub stops; the questions wait for its restart, or for another hub
}

// New returns no requests. head is the head of the log: the requests of later questions are this hub's.
func New(cfg Config, head int64) *Requests {
	return &Requests{Config: cfg, startSeq: head, open: map[schema.EventID]int{}, timers: map[schema.EventID]*time.Timer{}}
}

// Attach records that an open request waits for the answer of a question. The request ends with
// detach. isLost means that its program got no answer: if no other request attaches within
// Grace, the question is abandoned.
func (r *Requests) Attach(id schema.EventID) (detach func(isLost bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.timers[id]; t != nil {
		t.Stop()
		delete(r.timers, id)
	}
	r.open[id]++
	return func(isLost bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.open[id]--; r.open[id] > 0 {
			return
		}
		delete(r.open, id)
		if isLost {
			r.awaitReconnectLocked(id)
		}
	}
}

// awaitReconnectLocked abandons a question without open requests after Grace.
func (r *Requests) awaitReconnectLocked(id schema.EventID) {
	if r.stopped || r.open[id] > 0 || r.timers[id] != nil {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(r.Grace, func() { r.abandonDetached(id, &t) })
	r.timers[id] = t
}

// abandonDetached abandons a question unless a request has attached since timer was started, here or at
// another hub. The timer can fire before its variable is set; the mutex orders both.
func (r *Requests) abandonDetached(id schema.EventID, timer **time.Timer) {
	r.mu.Lock()
	isCurrent := r.timers[id] == *timer && !r.stopped
	if isCurrent {
		delete(r.timers, id)
	}
	r.mu.Unlock()
	if !isCurrent {
		return
	}
	err := r.abandonUnlessTaken(context.Background(), id, ReasonAgentGone)
	if err != nil {
		r.Log.Error("question without a waiting program not abandoned; it ends at its deadline", "event", id, "err", err)
	}
}

// abandonUnlessTaken abandons a question unless another hub that is alive owns it: its program is there.
func (r *Requests) abandonUnlessTaken(ctx context.Context, id schema.EventID, reason string) error {
	q, err := r.Store.Question(ctx, id)
	if errors.Is(err, schema.ErrNotFound) {
		return nil // removed by retention
	}
	if err != nil {
		return err
	}
	for _, m := range r.Store.Members() {
		if m.ID == q.Owner && m.ID != r.Store.Self() {
			return nil
		}
	}
	return r.Hub.Abandon(ctx, id, "", reason)
}

// Stop keeps the questions whose program may reconnect: after the hub's restart, or to another hub.
func (r *Requests) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for id, t := range r.timers {
		t.Stop()
		delete(r.timers, id)
	}
}

// Resume settles the questions of requests that were waiting when the only hub stopped. Programs that
// send them again have the time to do so.
func (r *Requests) Resume(ctx context.Context) error {
	if !r.Store.WasFirst() {
		return nil // EndOrphans does it, for all hubs that are gone
	}
	upTo := schema.EventID(r.startSeq)
	return r.settle(ctx, func(of store.Lifeline, after schema.EventID) ([]schema.EventID, error) {
		ids, err := r.Store.Lifelines(ctx, of, after, batchSize)
		for i, id := range ids {
			if id > upTo {
				return ids[:i], err
			}
		}
		return ids, err
	})
}

// EndOrphans is Resume for the questions of other hubs that are gone. The leader does it.
func (r *Requests) EndOrphans(ctx context.Context) error {
	if !r.Store.IsLeader() {
		return nil
	}
	var alive []string
	for _, m := range r.Store.Members() {
		alive = append(alive, m.ID)
	}
	return r.settle(ctx, func(of store.Lifeline, after schema.EventID) ([]schema.EventID, error) {
		return r.Store.Orphans(ctx, of, alive, after, batchSize)
	})
}

const batchSize = 256

// settle abandons the questions that next returns, or gives their programs the time to reconnect.
func (r *Requests) settle(ctx context.Context, next func(of store.Lifeline, after schema.EventID) ([]schema.EventID, error)) error {
	for _, of := range []store.Lifeline{store.ByRequest, store.ByRetry} {
		for last := schema.EventID(0); ; {
			ids, err := next(of, last)
			if err != nil || len(ids) == 0 {
				if err != nil {
					return err
				}
				break
			}
			for _, id := range ids {
				last = id
				if of == store.ByRetry {
					r.mu.Lock()
					r.awaitReconnectLocked(id)
					r.mu.Unlock()
				} else if err := r.abandonUnlessTaken(ctx, id, ReasonHubStopped); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
