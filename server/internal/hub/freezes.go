package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// A freeze stops the agents of its scope at their next tool call. It only denies, so every caller who may
// post events may freeze; an agent's token that is limited to applications only those.

// Freeze stops agents and returns the freeze. If there is an active one of the same scope, it is
// returned unchanged, and created is false.
func (h *Hub) Freeze(ctx context.Context, d *control.FreezeDraft, caller Caller) (f control.Freeze, created bool, err error) {
	if err := h.People.Check(schema.AccessPost, caller.Identity); err != nil {
		return f, false, err
	}
	if err := d.Validate(); err != nil {
		return f, false, err
	}
	if !caller.Identity.CanPost(d.SourceApp) || d.Scope == control.FreezeAll && caller.Identity.Agent && len(caller.Identity.Apps) > 0 {
		return f, false, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This token is limited to certain applications, and can freeze only those."}
	}
	by := cmp.Or(caller.Identity.Name, store.LocalName)
	if caller.Identity.Agent { // an agent's token may have a person's name
		by = "agent " + by
	}
	return h.freeze(ctx, control.Freeze{Scope: d.Scope, SourceApp: d.SourceApp, SessionID: d.SessionID, By: by, Reason: control.PlainLine(d.Reason)})
}

// FreezeSession freezes a session on behalf of the hub, if it is not frozen. The caller sets the
// session, the rule and its facts.
func (h *Hub) FreezeSession(ctx context.Context, f control.Freeze) error {
	f.Scope, f.By, f.Reason = control.FreezeSession, "Hookback", control.PlainLine(f.Reason)
	_, _, err := h.freeze(ctx, f)
	return err
}

func (h *Hub) freeze(ctx context.Context, f control.Freeze) (_ control.Freeze, created bool, err error) {
	f.CreatedAt = h.nowMillis()
	if f, created, err = h.Store.CreateFreeze(ctx, f); err == nil && created {
		h.repeatFreezes()
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Frozen})
		h.revokeAllowances(context.WithoutCancel(ctx), f.By)
		h.dropInvalidAnswers(context.WithoutCancel(ctx))
		h.denyHeld(context.WithoutCancel(ctx))
	}
	return f, created, err
}

// Unfreeze lifts a freeze and returns it. Once the hub has an owner, only signed-in people with the
// role operator may.
func (h *Hub) Unfreeze(ctx context.Context, id int64, caller Caller) (control.Freeze, error) {
	access := schema.AccessDecide
	if h.People.HasOwner() {
		access = schema.AccessKeep
	}
	if err := h.People.Check(access, caller.Identity); err != nil {
		return control.Freeze{}, err
	}
	f, err := h.Store.LiftFreeze(ctx, id, cmp.Or(caller.Identity.Name, store.LocalName), h.Clock())
	if err == nil {
		h.repeatFreezes()
		h.frozen.drop(h.Store)
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Frozen})
	}
	return f, err
}

// repeatFreezes stores the active freezes for hooks that can't reach the hub.
func (h *Hub) repeatFreezes() {
	if h.FreezeWriter == nil {
		return
	}
	h.repeating.Lock() // the last one to write has read the newest freezes
	defer h.repeating.Unlock()
	h.FreezeWriter.Write(h.Store.ActiveFreezes())
}

// denyHeld denies the permissions of frozen agents whose programs keep a connection open for the
// answer: hooks and POST /ask. Other questions stay pending.
func (h *Hub) denyHeld(ctx context.Context) {
	for _, of := range []store.Lifeline{store.ByRequest, store.ByRetry, store.ByListener} {
		ids, err := h.Store.Lifelines(ctx, of, 0)
		for _, id := range ids {
			h.denyFrozen(ctx, &store.Event{ID: id})
		}
		if err != nil {
			h.Log.Error("requests of frozen agents not read; they stay pending and can't be approved", "err", err)
		}
	}
}

// denyFrozen denies a pending permission of a frozen agent, and returns the question in its
// resulting state.
func (h *Hub) denyFrozen(ctx context.Context, e *store.Event) *store.Event {
	denied, err := h.transition(ctx, e.ID, func(s *question.Snapshot) (*store.Change, error) { return s.DenyFrozen(h.Clock()) })
	if err != nil {
		h.Log.Error("denying a request of a frozen agent failed; it stays pending and can't be approved", "event", e.ID, "err", err)
		return e
	}
	return denied
}

// recentSessions is the number of sessions that Freezes reads.
const recentSessions = 200

// openCallLimit is the age beyond which a call counts as abandoned.
const openCallLimit = schema.Millis(60 * 60 * 1000)

// Freezes returns the active freezes, and the state of their agents.
func (h *Hub) Freezes(ctx context.Context) (control.FreezeList, error) {
	list := control.FreezeList{Freezes: append([]control.Freeze{}, h.Store.ActiveFreezes()...)}
	if len(list.Freezes) == 0 {
		return list, nil
	}
	known := map[store.SessionKey]bool{}
	h.frozen.mu.Lock()
	for key, state := range h.frozen.states {
		known[key] = true
		if state == sessionUncontrolled {
			list.Uncontrolled++
		} else {
			list.Stopped++
		}
	}
	for _, calls := range h.frozen.unchecked {
		list.Unchecked += calls
	}
	h.frozen.mu.Unlock()
	sessions, _, err := h.Store.Sessions(ctx, store.SessionFilter{Limit: recentSessions})
	if err != nil {
		return list, err
	}
	for _, raw := range sessions {
		var s struct {
			Sum struct {
				App     string        `json:"source_app"`
				Session string        `json:"session_id"`
				Ended   bool          `json:"ended"`
				LastAt  schema.Millis `json:"lastAt"`
			} `json:"sum"`
			Open []json.RawMessage `json:"open"`
		}
		if json.Unmarshal(raw, &s) != nil {
			continue
		}
		key := store.SessionKey{App: s.Sum.App, Session: s.Sum.Session}
		if s.Sum.Ended {
			for _, f := range list.Freezes {
				if f.Scope == control.FreezeSession && f.Stops(key.App, key.Session) {
					list.Ended = append(list.Ended, f.ID)
				}
			}
			continue
		}
		if len(s.Open) == 0 || s.Sum.LastAt < h.nowMillis()-openCallLimit {
			continue
		}
		if !known[key] && h.Store.FreezeOf(key.App, key.Session) != nil {
			list.Finishing++
		}
	}
	return list, nil
}

// frozenState is the state of a session since it was frozen.
type frozenState int

const (
	sessionStopped      frozenState = 1 + iota // its hook got the freeze, or its turn ended
	sessionUncontrolled                        // it started a call although it is frozen
)

// freezeProgress records the sessions that reported something while they are frozen. After a
// restart of the hub it is empty, and fills with their next events.
type freezeProgress struct {
	mu        sync.Mutex
	states    map[store.SessionKey]frozenState
	unchecked map[store.SessionKey]int // calls that ran because their hook could not reach the hub
}

// maxFrozenSessions limits the map; the counts don't go beyond it.
const maxFrozenSessions = 10_000

func (p *freezeProgress) set(key store.SessionKey, state frozenState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.states == nil {
		p.states = map[store.SessionKey]frozenState{}
	}
	if _, known := p.states[key]; known || len(p.states) < maxFrozenSessions {
		p.states[key] = state
	}
}

func (p *freezeProgress) addUnchecked(key store.SessionKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unchecked == nil {
		p.unchecked = map[store.SessionKey]int{}
	}
	if p.unchecked[key] > 0 || len(p.unchecked) < maxFrozenSessions {
		p.unchecked[key]++
	}
}

// drop removes the sessions that no active freeze stops.
func (p *freezeProgress) drop(s store.Freezes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.states {
		if s.FreezeOf(key.App, key.Session) == nil {
			delete(p.states, key)
		}
	}
	for key := range p.unchecked {
		if s.FreezeOf(key.App, key.Session) == nil {
			delete(p.unchecked, key)
		}
	}
}

// recordFrozen records an event of a frozen session.
func (h *Hub) recordFrozen(_ context.Context, s *postedEvent) {
	e, directive, isLate := s.event, s.receipt.Directive, s.isLate
	f := h.Store.FreezeOf(e.App, e.Session)
	if f == nil {
		return
	}
	key := store.SessionKey{App: e.App, Session: e.Session}
	switch {
	case directive != nil && directive.Freeze != nil:
		h.frozen.set(key, sessionStopped)
	case e.Type == "Stop" || e.Type == sessionEndEvent:
		h.frozen.set(key, sessionStopped)
	case e.Type != toolStartEvent || e.Question != nil || isLate && e.Timestamp < int64(f.CreatedAt):
	case hookVerdictOf(e).By == control.ByFreeze: // it knew the freeze from its file
		h.frozen.set(key, sessionStopped)
	case isLate:
		h.frozen.addUnchecked(key)
	default:
		h.frozen.set(key, sessionUncontrolled)
	}
}
