package hub

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
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
	calls []question.PendingCall
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
	session.calls = slices.DeleteFunc(session.calls, func(a question.PendingCall) bool { return a.ID == e.ID })
	if session.pending--; session.pending <= 0 {
		delete(p, key)
	}
}

// pendingCalls returns the oldest pending questions of a session. They are cached in
// memory: an agent that continues while hundreds of its questions are pending sends
// several events per second, and each event is matched against all of them.
func (h *Hub) pendingCalls(ctx context.Context, app, session string) ([]question.PendingCall, error) {
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
	list, failed := make([]question.PendingCall, 0, min(len(ids), maxPendingCalls)), false
	for _, id := range ids[:min(len(ids), maxPendingCalls)] {
		i, found := slices.BinarySearchFunc(cached, id, func(a question.PendingCall, id schema.EventID) int { return int(a.ID - id) })
		if found {
			list = append(list, cached[i])
			continue
		}
		a, err := h.readSnapshot(ctx, id)
		if err != nil {
			failed = true
			continue
		}
		list = append(list, a.PendingCall())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !failed && open.ended == ended { // otherwise the list may contain a question settled in the meantime
		open.calls = slices.Clone(list)
	}
	return list, nil
}

// detectAnswerAtAgent closes the pending questions that, according to e, were decided
// at the agent.
func (h *Hub) detectAnswerAtAgent(ctx context.Context, e *store.Event) {
	switch e.Type {
	case "PostToolUse", "PostToolUseFailure", "PermissionDenied", "Stop", "StopFailure", "Interrupt", "SubagentStop", "UserPromptSubmit":
	default:
		return
	}
	list, err := h.pendingCalls(ctx, e.App, e.Session)
	if err != nil {
		h.Log.Error("pending question lookup failed; answers given at the agent may be missed", "event", e.ID, "err", err)
	}
	if len(list) == 0 {
		return
	}
	c, _ := question.CallOf(e, nil)
	for _, id := range question.CallsClosedBy(e, c, list) {
		_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
			return s.CloseAnsweredAtAgent(e.Type, h.Clock())
		})
		if err != nil {
			h.Log.Error("closing a question answered at the agent failed", "event", id, "err", err)
		}
	}
}
