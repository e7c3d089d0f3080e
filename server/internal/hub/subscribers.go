package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// ResponseSent records that the POST of a question was answered or its connection
// closed. From then on the agent may be dialed.
func (h *Hub) ResponseSent(id schema.EventID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if done, ok := h.unsentResponses[id]; ok {
		close(done)
		delete(h.unsentResponses, id)
	}
}

// responseSentTimeout limits AwaitResponseSent in case no one calls ResponseSent.
const responseSentTimeout = 10 * time.Second

// AwaitResponseSent blocks until the POST of the question was answered, at most
// responseSentTimeout. An agent that blocks in its POST can't accept a connection
// before that. It returns an error only if ctx ends.
func (h *Hub) AwaitResponseSent(ctx context.Context, id schema.EventID) error {
	h.mu.Lock()
	done, ok := h.unsentResponses[id]
	h.mu.Unlock()
	if !ok {
		return nil
	}
	timer := time.NewTimer(responseSentTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		h.ResponseSent(id)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// subscribe returns a channel that receives a value after the question changed, until
// stop is called. The id may be unknown to the hub; after stop nothing is retained for
// it.
func (h *Hub) subscribe(id schema.EventID) (changed <-chan struct{}, stop func()) {
	ch := feed.NewWakeup()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscribers[id] == nil {
		h.subscribers[id] = map[feed.Wakeup]bool{}
	}
	h.subscribers[id][ch] = true
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.subscribers[id], ch); len(h.subscribers[id]) == 0 {
			delete(h.subscribers, id)
		}
	}
}

// notifyRows counts the pending questions and wakes everything that waits for one of the
// committed rows.
func (h *Hub) notifyRows(rows []store.LogRow) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, row := range rows {
		id := row.Event.ID
		switch {
		case row.Change:
			for ch := range h.subscribers[id] {
				ch.Wake()
			}
			if row.Ends {
				h.pending.remove(row.Event.UID)
				h.byOwner.remove(row.Event.UID)
				delete(h.calls, id)
				h.unanswered.End(row.Event)
				h.rememberAskBackLocked(row.Event)
			}
		case row.Event.Question != nil:
			if !row.Foreign { // its poster waits for the response of this hub
				h.unsentResponses[id] = make(chan struct{})
			}
			delete(h.unstored, row.Event.UID)
			h.pending.add(row.Event.UID, store.SessionKey{App: row.Event.App, Session: row.Event.Session})
		case row.Foreign:
			h.followSessionLocked(row.Event)
		}
	}
}

// The types of events that begin and end the state that a hub keeps of a session in memory.
const (
	stopEvent         = "Stop"
	promptEvent       = "UserPromptSubmit"
	sessionStartEvent = "SessionStart"
	toolStartEvent    = "PreToolUse"
	subagentStopEvent = "SubagentStop"
	// sessionEndEvent ends a session: no agent waits any longer.
	sessionEndEvent = "SessionEnd"
)

// followSessionLocked ends the state in memory that an event at another hub ends. The caller holds mu.
func (h *Hub) followSessionLocked(e *store.Event) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	switch e.Type {
	case stopEvent, sessionEndEvent:
		h.recordFrozen(context.Background(), &postedEvent{event: e})
	}
	switch e.Type {
	case promptEvent, sessionEndEvent:
		h.endMessageWaitLocked(key)
		delete(h.stopBlocks, key)
	}
}
