package hub

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxPendingCalls bounds the questions of a session that one event is held against.
const maxPendingCalls = 200

// pendingBySession are the sessions that have pending questions, so that all other
// sessions' events cost one look into a map.
type pendingBySession map[store.SessionKey]*sessionCalls // :: session → what it asks; none when nothing

// sessionCalls is what one session asks.
type sessionCalls struct {
	pending int64
	ended   int64 // counts up with each question that ends
	// calls are the oldest of its pending questions, as far as one was looked for: the first
	// ones in the order of their ids, none left out.
	calls []pendingCall
}

// pendingCall is what of a question its agent's events are held against. None of it changes
// while the question is pending.
type pendingCall struct {
	id        schema.EventID
	timestamp int64 // milliseconds
	facts     hookFacts
	toolUseID string // the id of its call; empty: it has none
	tool      string // empty: it is about no call
	hash      string // of the call
	noAgent   bool   // it is not an agent's
}

func (o pendingBySession) add(e *store.Event) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	s := o[key]
	if s == nil {
		s = &sessionCalls{}
		o[key] = s
	}
	s.pending++
}

func (o pendingBySession) remove(e *store.Event) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	s := o[key]
	if s == nil {
		return
	}
	s.ended++
	s.calls = slices.DeleteFunc(s.calls, func(a pendingCall) bool { return a.id == e.ID })
	if s.pending--; s.pending <= 0 {
		delete(o, key)
	}
}

// pendingCalls returns the oldest pending questions of a session. What is known of them stays
// in memory: an agent that goes on while hundreds of its questions are pending sends
// several events a second, and each of them is held against all.
func (h *Hub) pendingCalls(ctx context.Context, app, session string) ([]pendingCall, error) {
	h.mu.Lock()
	s := h.pending[store.SessionKey{App: app, Session: session}]
	if s == nil {
		h.mu.Unlock()
		return nil, nil
	}
	known, ended := slices.Clone(s.calls), s.ended
	whole := int64(len(known)) >= min(s.pending, maxPendingCalls)
	h.mu.Unlock()
	if whole {
		return known, nil
	}
	ids, err := h.Store.PendingOf(ctx, app, session)
	if err != nil {
		return nil, err
	}
	list, missed := make([]pendingCall, 0, min(len(ids), maxPendingCalls)), false
	for _, id := range ids[:min(len(ids), maxPendingCalls)] {
		i, found := slices.BinarySearchFunc(known, id, func(a pendingCall, id schema.EventID) int { return int(a.id - id) })
		if found {
			list = append(list, known[i])
			continue
		}
		a, err := h.readSnapshot(ctx, id)
		if err != nil {
			missed = true
			continue
		}
		list = append(list, a.pendingCall())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !missed && s.ended == ended { // else one of these may be over
		s.calls = slices.Clone(list)
	}
	return list, nil
}

func (a *snapshot) pendingCall() pendingCall {
	said := hookFactsOf(&a.Event)
	k := pendingCall{id: a.ID, timestamp: a.Timestamp, facts: said, toolUseID: said.ToolUseID, noAgent: said.Agent == ""}
	if a.hitl.ToolCall != nil && a.hitl.ToolCall.ID != "" {
		k.toolUseID = a.hitl.ToolCall.ID
	}
	if call, ok := toolCallOf(&store.EventDraft{Event: a.Event}, &a.hitl); ok {
		k.tool, k.hash = call.name, string(call.hash())
	}
	return k
}
