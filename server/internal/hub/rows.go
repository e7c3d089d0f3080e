package hub

import (
	"bytes"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

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

// recordFrozen records an event of a frozen session. isLate is set if its hook could not reach the hub at
// the time of the event.
func (h *Hub) recordFrozen(e *store.Event, directive *control.Directive, isLate bool) {
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

func askBackKeyOf(e *store.Event, q *schema.HumanInTheLoop) (key question.AskBackKey, ok bool) {
	call, ok := question.CallOf(e, q)
	if !ok || q.Type != schema.Permission {
		return question.AskBackKey{}, false
	}
	return question.AskBackKey{App: e.App, Session: e.Session, Call: string(call.Hash())}, true
}

// rememberAskBack remembers a resolved question if it was answered with askBack, at any hub.
func (h *Hub) rememberAskBack(e *store.Event) {
	var q schema.HumanInTheLoop
	if !bytes.Contains(e.Status, []byte(`"askBack":`)) || q.UnmarshalJSON(e.Question) != nil {
		return
	}
	if key, ok := askBackKeyOf(e, &q); ok {
		h.askBacks.Put(key, e.ID)
	}
}

// followSessionLocked ends the state in memory that an event at another hub ends. The caller holds mu.
func (h *Hub) followSessionLocked(e *store.Event) {
	key := store.SessionKey{App: e.App, Session: e.Session}
	switch e.Type {
	case stopEvent, sessionEndEvent:
		h.recordFrozen(e, nil, false)
	}
	switch e.Type {
	case promptEvent, sessionEndEvent:
		h.endMessageWaitLocked(key)
		delete(h.stopBlocks, key)
	}
}

// endMessageWaitLocked ends the wait of the session's hook. The caller holds mu.
func (h *Hub) endMessageWaitLocked(key store.SessionKey) {
	if w := h.messageWaiters[key]; w != nil {
		w.ended = true
		w.changed.Wake()
	}
}
