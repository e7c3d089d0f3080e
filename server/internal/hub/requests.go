package hub

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A program that waits for the answer in the request that asked has nothing but the connection to show that it
// still waits. So the hub ends the questions of requests that broke off.

// openRequests counts the open requests of each question that a program may ask again over a new connection. The last
// one that ends starts the time to reconnect.
type openRequests struct {
	mu      sync.Mutex
	open    map[schema.EventID]int
	timers  map[schema.EventID]*time.Timer
	stopped bool // the hub stops; the questions wait for its restart, or for another hub
}

// Attach records that an open request waits for the answer of a question. The request ends with
// detach. isLost means that its program got no answer: if no other request attaches within
// ReconnectGrace, the question is abandoned.
func (h *Hub) Attach(id schema.EventID) (detach func(isLost bool)) {
	r := &h.requests
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
			h.awaitReconnectLocked(id)
		}
	}
}

// awaitReconnectLocked abandons a question without open requests after ReconnectGrace. The caller holds requests.mu.
func (h *Hub) awaitReconnectLocked(id schema.EventID) {
	r := &h.requests
	if r.stopped || r.open[id] > 0 || r.timers[id] != nil {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(h.ReconnectGrace, func() { h.abandonDetached(id, &t) })
	r.timers[id] = t
}

// abandonDetached abandons a question unless a request has attached since timer was started, here or at
// another hub. The timer can fire before its variable is set; the mutex orders both.
func (h *Hub) abandonDetached(id schema.EventID, timer **time.Timer) {
	r := &h.requests
	r.mu.Lock()
	isCurrent := r.timers[id] == *timer && !r.stopped
	if isCurrent {
		delete(r.timers, id)
	}
	r.mu.Unlock()
	if !isCurrent {
		return
	}
	if err := h.abandonUnlessTaken(context.Background(), id, ReasonAgentGone); err != nil {
		h.Log.Error("question without a waiting program not abandoned; it ends at its deadline", "event", id, "err", err)
	}
}

// abandonUnlessTaken abandons a question unless another hub that is alive owns it: its program is there.
func (h *Hub) abandonUnlessTaken(ctx context.Context, id schema.EventID, reason string) error {
	q, err := h.Store.Question(ctx, id)
	if errors.Is(err, schema.ErrNotFound) {
		return nil // removed by retention
	}
	if err != nil {
		return err
	}
	for _, m := range h.Store.Members() {
		if m.ID == q.Owner && m.ID != h.Store.Self() {
			return nil
		}
	}
	return h.Abandon(ctx, id, "", reason)
}

// stop keeps the questions whose program may reconnect: after the hub's restart, or to another hub.
func (r *openRequests) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for id, t := range r.timers {
		t.Stop()
		delete(r.timers, id)
	}
}

// resumeRequests settles the questions of requests that were waiting when the only hub stopped. Programs that
// send them again have the time to do so.
func (h *Hub) resumeRequests(ctx context.Context) error {
	if !h.Store.WasFirst() {
		return nil // endOrphans does it, for all hubs that are gone
	}
	return h.endRequests(ctx, func(of store.Lifeline) ([]schema.EventID, error) {
		ids, err := h.Store.Lifelines(ctx, of, 0)
		earlier, _ := slices.BinarySearch(ids, schema.EventID(h.startSeq)+1) // the requests of later questions are this hub's
		return ids[:earlier], err
	})
}

// endOrphans is resumeRequests for the questions of other hubs that are gone. The leader does it.
func (h *Hub) endOrphans(ctx context.Context) error {
	if !h.Store.IsLeader() {
		return nil
	}
	var alive []string
	for _, m := range h.Store.Members() {
		alive = append(alive, m.ID)
	}
	return h.endRequests(ctx, func(of store.Lifeline) ([]schema.EventID, error) { return h.Store.Orphans(ctx, of, alive) })
}

// endRequests abandons the questions that list returns, or gives their programs the time to reconnect.
func (h *Hub) endRequests(ctx context.Context, list func(of store.Lifeline) ([]schema.EventID, error)) error {
	held, err := list(store.ByRequest)
	if err != nil {
		return err
	}
	for _, id := range held {
		if err := h.abandonUnlessTaken(ctx, id, ReasonHubStopped); err != nil {
			return err
		}
	}
	retried, err := list(store.ByRetry)
	h.requests.mu.Lock()
	defer h.requests.mu.Unlock()
	for _, id := range retried {
		h.awaitReconnectLocked(id)
	}
	return err
}
