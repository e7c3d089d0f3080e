package hub

import (
	"cmp"
	"context"
	"slices"

	"github.com/hookback/hookback/server/internal/hub/rawevent"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// maxSessionApps limits the sessions of which the hub remembers the application.
const maxSessionApps = 10_000

// sentSession identifies a session of a coding agent by its sender, because ids are chosen by agents.
type sentSession struct{ requester, agent, id string }

// SessionApp returns the application of an event that a coding agent's hook sent. Hooks name it after the
// directory of the agent, which the model changes while it works. So a session keeps the application of its
// first event, unless the event has another name than a directory in its payload, or than the agent without
// one: then a person chose it.
func (h *Hub) SessionApp(ctx context.Context, agent string, e *store.Event, caller Caller) string {
	key := sentSession{caller.Identity.Requester(), agent, e.Session}
	h.mu.Lock()
	first, known := h.sessionApps[key]
	h.mu.Unlock()
	if !known {
		first = cmp.Or(h.firstApp(ctx, key, caller.Identity.TokenOwner()), e.App)
		h.mu.Lock()
		if len(h.sessionApps) >= maxSessionApps {
			clear(h.sessionApps)
		}
		if concurrent, known := h.sessionApps[key]; known {
			first = concurrent
		}
		h.sessionApps[key] = first
		h.mu.Unlock()
	}
	isDerived := e.App == agent || first != e.App && slices.Contains(question.DirectoryNames(e.Payload), e.App)
	if !isDerived || !caller.Identity.CanPost(first) {
		return e.App
	}
	return first
}

// keepApp sets the application of an event to that of its session.
func (h *Hub) keepApp(ctx context.Context, s *rawevent.Event, caller Caller) {
	if s.Agent != "" {
		s.SetApp(h.SessionApp(ctx, s.Agent, &store.Event{App: s.App, Session: s.Session, Payload: s.Payload}, caller))
	}
}

// firstApp returns the application of the session's first event in the store, or "".
func (h *Hub) firstApp(ctx context.Context, key sentSession, owner string) string {
	events, err := h.Store.Find(ctx, store.Filter{Session: key.id, Oldest: true, Limit: 1})
	if err != nil || len(events) == 0 { // if the store can't be read, the event itself fails, too
		return ""
	}
	if facts := question.HookFactsOf(events[0]); facts.Agent != key.agent || facts.TokenOwner != owner {
		return ""
	}
	return events[0].App
}
