package hub

import (
	"context"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxLookedAt bounds the questions of a session that one event is held against.
const maxLookedAt = 200

// openSessions are the sessions that have pending questions, so that all other
// sessions' events cost one look into a map.
type openSessions map[store.SessionKey]*openSession // :: session → what it asks; none when nothing

// openSession is what one session asks.
type openSession struct {
	pending int64
	ended   int64 // counts up with each question that ends
	// asked are the oldest of its pending questions, as far as one was looked for: the first
	// ones in the order of their ids, none left out.
	asked []asked
}

// asked is what of a question its agent's events are held against. None of it changes
// while the question is pending.
type asked struct {
	id      schema.EventID
	at      int64 // milliseconds
	said    hookFacts
	use     string // the id of its call; empty: it has none
	tool    string // empty: it is about no call
	hash    string // of the call
	unknown bool   // it is not an agent's
}

func (o openSessions) add(e *store.Event) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	s := o[key]
	if s == nil {
		s = &openSession{}
		o[key] = s
	}
	s.pending++
}

func (o openSessions) end(e *store.Event) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	s := o[key]
	if s == nil {
		return
	}
	s.ended++
	s.asked = slices.DeleteFunc(s.asked, func(a asked) bool { return a.id == e.ID })
	if s.pending--; s.pending <= 0 {
		delete(o, key)
	}
}

// askedBy returns the oldest pending questions of a session. What is known of them stays
// in memory: an agent that goes on while hundreds of its questions are pending sends
// several events a second, and each of them is held against all.
func (h *Hub) askedBy(ctx context.Context, app, session string) ([]asked, error) {
	h.mu.Lock()
	s := h.open[store.SessionKey{App: app, Session: session}]
	if s == nil {
		h.mu.Unlock()
		return nil, nil
	}
	known, ended := slices.Clone(s.asked), s.ended
	whole := int64(len(known)) >= min(s.pending, maxLookedAt)
	h.mu.Unlock()
	if whole {
		return known, nil
	}
	ids, err := h.Store.PendingOf(ctx, app, session)
	if err != nil {
		return nil, err
	}
	list, missed := make([]asked, 0, min(len(ids), maxLookedAt)), false
	for _, id := range ids[:min(len(ids), maxLookedAt)] {
		i, found := slices.BinarySearchFunc(known, id, func(a asked, id schema.EventID) int { return int(a.id - id) })
		if found {
			list = append(list, known[i])
			continue
		}
		a, err := h.read(ctx, id)
		if err != nil {
			missed = true
			continue
		}
		list = append(list, a.asked())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !missed && s.ended == ended { // else one of these may be over
		s.asked = slices.Clone(list)
	}
	return list, nil
}

func (a *asking) asked() asked {
	said := factsOf(&a.Event)
	k := asked{id: a.ID, at: a.Timestamp, said: said, use: said.ToolUseID, unknown: said.Agent == ""}
	if a.hitl.ToolCall != nil && a.hitl.ToolCall.ID != "" {
		k.use = a.hitl.ToolCall.ID
	}
	if call, ok := toolCallOf(&store.EventDraft{Event: a.Event}, &a.hitl); ok {
		k.tool, k.hash = call.name, string(call.hash())
	}
	return k
}
