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
	cached, ended := slices.Clone(s.calls), s.ended
	complete := int64(len(cached)) >= min(s.pending, maxPendingCalls)
	h.mu.Unlock()
	if complete {
		return cached, nil
	}
	ids, err := h.Store.PendingOf(ctx, app, session)
	if err != nil {
		return nil, err
	}
	list, failed := make([]pendingCall, 0, min(len(ids), maxPendingCalls)), false
	for _, id := range ids[:min(len(ids), maxPendingCalls)] {
		i, found := slices.BinarySearchFunc(cached, id, func(a pendingCall, id schema.EventID) int { return int(a.id - id) })
		if found {
			list = append(list, cached[i])
			continue
		}
		a, err := h.readSnapshot(ctx, id)
		if err != nil {
			failed = true
			continue
		}
		list = append(list, a.pendingCall())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !failed && s.ended == ended { // else one of these may be over
		s.calls = slices.Clone(list)
	}
	return list, nil
}

func (s *snapshot) pendingCall() pendingCall {
	facts := hookFactsOf(&s.Event)
	call := pendingCall{id: s.ID, timestamp: s.Timestamp, facts: facts, toolUseID: facts.ToolUseID, noAgent: facts.Agent == ""}
	if s.hitl.ToolCall != nil && s.hitl.ToolCall.ID != "" {
		call.toolUseID = s.hitl.ToolCall.ID
	}
	if toolCall, ok := toolCallOf(&store.EventDraft{Event: s.Event}, &s.hitl); ok {
		call.tool, call.hash = toolCall.name, string(toolCall.hash())
	}
	return call
}
