package hub

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxPendingCalls limits how many questions of a session one event is matched against.
const maxPendingCalls = 200

// pendingBySession holds the sessions that have pending questions. For all other
// sessions an event costs one map lookup.
type pendingBySession map[store.SessionKey]*sessionCalls

// sessionCalls holds the pending questions of one session.
type sessionCalls struct {
	pending int64
	ended   int64 // number of questions settled since the entry was made; detects stale reads
	// calls is a cache of the oldest pending questions, ordered by id and without gaps.
	calls []pendingCall
}

// pendingCall identifies the tool call behind a pending question. Later events of the
// session are matched against it. Its fields do not change while the question is
// pending.
type pendingCall struct {
	id        schema.EventID
	timestamp int64 // Unix time in ms
	facts     hookFacts
	toolUseID string // empty if the call has no id
	tool      string // empty if the question is not about a tool call
	hash      string // hash of tool and arguments
	noAgent   bool   // the event does not name an agent
}

func (p pendingBySession) add(e *store.Event) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	session := p[key]
	if session == nil {
		session = &sessionCalls{}
		p[key] = session
	}
	session.pending++
}

func (p pendingBySession) remove(e *store.Event) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	session := p[key]
	if session == nil {
		return
	}
	session.ended++
	session.calls = slices.DeleteFunc(session.calls, func(a pendingCall) bool { return a.id == e.ID })
	if session.pending--; session.pending <= 0 {
		delete(p, key)
	}
}

// pendingCalls returns the oldest pending questions of a session. They are cached in
// memory: an agent that continues while hundreds of its questions are pending sends
// several events per second, and each event is matched against all of them.
func (h *Hub) pendingCalls(ctx context.Context, app, session string) ([]pendingCall, error) {
	h.mu.Lock()
	open := h.pending[store.SessionKey{App: app, Session: session}]
	if open == nil {
		h.mu.Unlock()
		return nil, nil
	}
	cached, ended := slices.Clone(open.calls), open.ended
	complete := int64(len(cached)) >= min(open.pending, maxPendingCalls)
	h.mu.Unlock()
	if complete {
		return cached, nil
	}
	ids, err := h.Store.PendingInSession(ctx, app, session)
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
	if !failed && open.ended == ended { // otherwise the list may contain a question settled in the meantime
		open.calls = slices.Clone(list)
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
