package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// DefaultReconnectGrace is the default of Config.ReconnectGrace.
const DefaultReconnectGrace = 10 * time.Second

// Attach records that an open request waits for the answer of a question. The request ends with
// detach. isLost means that its program got no answer: if no other request attaches within
// ReconnectGrace, the question is abandoned.
func (h *Hub) Attach(id schema.EventID) (detach func(isLost bool)) {
	a := &h.attached
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.timers[id]; t != nil {
		t.Stop()
		delete(a.timers, id)
	}
	a.open[id]++
	return func(isLost bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.open[id]--; a.open[id] > 0 {
			return
		}
		delete(a.open, id)
		if isLost {
			h.awaitReconnectLocked(id)
		}
	}
}

// awaitReconnectLocked abandons a question without open requests after ReconnectGrace.
func (h *Hub) awaitReconnectLocked(id schema.EventID) {
	a := &h.attached
	if a.stopped || a.open[id] > 0 || a.timers[id] != nil {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(h.ReconnectGrace, func() { h.abandonDetached(id, &t) })
	a.timers[id] = t
}

// abandonDetached abandons a question unless a request has attached since timer was started. The
// timer can fire before its variable is set; the mutex orders both.
func (h *Hub) abandonDetached(id schema.EventID, timer **time.Timer) {
	a := &h.attached
	a.mu.Lock()
	isCurrent := a.timers[id] == *timer && !a.stopped
	if isCurrent {
		delete(a.timers, id)
	}
	a.mu.Unlock()
	if !isCurrent {
		return
	}
	if err := h.Abandon(context.Background(), id, "", ReasonAgentGone); err != nil {
		h.Log.Error("question without a waiting program not abandoned; it ends at its deadline", "event", id, "err", err)
	}
}

// resumeAttachments gives the programs that waited when the hub stopped the time to reconnect.
func (h *Hub) resumeAttachments(ctx context.Context) error {
	return h.eachLifeline(ctx, store.ByRetry, h.startSeq, func(id schema.EventID) error {
		h.attached.mu.Lock()
		defer h.attached.mu.Unlock()
		h.awaitReconnectLocked(id)
		return nil
	})
}
