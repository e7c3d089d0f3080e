package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// maxSessionApps limits the sessions of which the hub remembers the application.
const maxSessionApps = 10_000

// sentSession identifies a session of a coding agent by its sender, because ids are chosen by agents.
type sentSession struct{ requester, agent, id string }

// SessionApp returns the application of an event that a coding agent's hook sent. Hooks name it after the
// directory of the agent, which the model changes while it works. So a session keeps the application of its
// first event, unless a person chose the name of this one, or the application that the agent works in is frozen:
// the freezes of both stop the call.
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
	switch {
	case first == e.App, !caller.Identity.CanPost(first), isChosen(agent, e):
		return e.App
	case h.Store.FreezeOf(e.App, e.Session) != nil && h.Store.FreezeOf(first, e.Session) == nil:
		return e.App
	}
	return first
}

// isChosen reports whether a person chose the name of the event's application. A hook that sends no gate facts does
// not say so: its own names are that of a directory in the payload, and that of the agent.
func isChosen(agent string, e *store.Event) bool {
	var envelope struct {
		Gate *control.GateFacts `json:"gate"`
	}
	if json.Unmarshal(e.EnvelopeObject(), &envelope) == nil && envelope.Gate != nil {
		return envelope.Gate.AppChosen
	}
	return e.App != agent && !slices.Contains(question.DirectoryNames(e.Payload), e.App)
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
