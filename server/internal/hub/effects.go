package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub/arrival"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// postedEvent is an event on its way through the hub, and its result.
type postedEvent struct {
	*arrival.Arrival
	requester string // authenticated name of the poster; empty: unknown
	isLate    bool   // it is one of a batch: its hook could not reach the hub at the time of the event
	receipt   store.Receipt
	event     *store.Event       // as it is stored, and then after its effects
	first     *question.Snapshot // of the question, if this is a repeat of its POST
	result    StoredEvent
	err       error
}

// isQuestion reports whether the event has a question, and is stored with one.
func (s *postedEvent) isQuestion() bool { return s.Ask != nil && s.event.Question != nil }

// Call returns the call of the event, or of its question as it was first asked.
func (s *postedEvent) Call() *question.Call {
	if s.first != nil {
		return s.first.Call()
	}
	return s.Arrival.Call()
}

// effects are what an event causes after it is stored, in this order. An error ends them.
var effects = []struct {
	run func(*Hub, context.Context, *postedEvent)
	// ofRepeats are for the repeat of a POST, whose event had the others already. Rules may not have answered its
	// question, because the hub stopped in between.
	ofNew, ofRepeats bool
}{
	{run: (*Hub).recordFrozen, ofNew: true},
	{run: (*Hub).observeCoverage, ofNew: true},
	{run: (*Hub).endSession, ofNew: true},
	{run: (*Hub).detectAnswerAtAgent, ofNew: true},
	{run: (*Hub).afterMessages, ofNew: true},
	{run: (*Hub).resumeQuestion, ofRepeats: true},
	{run: (*Hub).applyRules, ofNew: true, ofRepeats: true},
	{run: (*Hub).encode, ofNew: true, ofRepeats: true},
}

// finish runs the effects of an appended event. A repeat must be one of an application that the caller's token is valid
// for, which may be another than the draft's.
func (h *Hub) finish(ctx context.Context, s *postedEvent, caller Caller) {
	r := &s.receipt
	s.requester, s.isLate = caller.Identity.Requester(), caller.isLate
	if s.err == nil && r.Replayed && s.Directive != nil && !isSameEvent(&s.Event, r.Event) {
		if r.Directive == nil || r.Directive.Freeze == nil {
			s.err = schema.ErrKeyConflict
		} else { // another hook reported the same call first, and this one must stop it, too
			r.Directive = &control.Directive{Freeze: r.Directive.Freeze}
		}
	}
	if s.err == nil && r.Replayed && !caller.Identity.CanPost(r.Event.App) {
		s.err = schema.ErrKeyConflict
	}
	if s.Ask != nil && (s.err != nil || r.Replayed) {
		h.releasePending(&s.EventDraft)
	}
	if s.err != nil {
		s.err = withRetryHint(s.err)
		return
	}
	s.event = r.Event
	for _, effect := range effects {
		if s.err == nil && (!r.Replayed && effect.ofNew || r.Replayed && effect.ofRepeats) {
			effect.run(h, ctx, s)
		}
	}
}

// isSameEvent reports whether a repeat has the content of the first event.
func isSameEvent(repeat, first *store.Event) bool {
	return bytes.Equal(repeat.Envelope, first.Envelope) && bytes.Equal(repeat.Payload, first.Payload)
}

// withRetryHint adds a hint to the errors of a key conflict and of an overloaded store.
func withRetryHint(err error) error {
	switch {
	case errors.Is(err, schema.ErrKeyConflict):
		return &schema.HintError{Err: err, Hint: "Nothing was stored. Use a new idempotency_key for a new request."}
	case errors.Is(err, schema.ErrBusy):
		return &schema.HintError{Err: err, Hint: "Nothing was stored. Send the event again in a moment."}
	default:
		return err
	}
}

func (h *Hub) observeCoverage(_ context.Context, s *postedEvent) {
	if h.Coverage != nil {
		h.Coverage.Observe(s.requester, s.event)
	}
}

// endSession cancels the questions that a session asked before its end, because the agent no
// longer waits for them, and ends the session's rules.
func (h *Hub) endSession(ctx context.Context, s *postedEvent) {
	end := s.event
	if end.Type != sessionEndEvent {
		return
	}
	ids, err := h.Store.PendingInSession(ctx, end.App, end.Session)
	if err != nil {
		h.Log.Error("pending question lookup failed; questions of an ended session stay pending", "session", end.Session, "err", err)
	}
	for _, id := range ids {
		if id > end.ID { // the session was resumed
			break
		}
		_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) { return s.CloseAtSessionEnd(h.Clock()) })
		if err != nil {
			h.Log.Error("canceling a question of an ended session failed", "event", id, "err", err)
		}
	}
	h.endSessionRules(ctx, end)
}

// detectAnswerAtAgent closes the pending questions that, according to the event, were decided
// at the agent.
func (h *Hub) detectAnswerAtAgent(ctx context.Context, s *postedEvent) {
	e := s.event
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
	c := s.Call()
	if s.Ask != nil { // and the event itself may be about another call
		c = question.CallOf(e, nil)
	}
	for _, id := range question.CallsClosedBy(e, c, list) {
		_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
			return s.CloseAnsweredAtAgent(e.Type, h.Clock())
		})
		if err != nil {
			h.Log.Error("closing a question answered at the agent failed", "event", id, "err", err)
		}
	}
}

// maxPendingCalls limits how many questions of a session one event is matched against.
const maxPendingCalls = 200

// pendingCalls returns the oldest pending questions of a session. They are cached in
// memory: an agent that continues while hundreds of its questions are pending sends
// several events per second, and each event is matched against all of them.
func (h *Hub) pendingCalls(ctx context.Context, app, session string) (list []question.PendingCall, err error) {
	ids, err := h.Store.PendingInSession(ctx, app, session)
	if err != nil {
		return nil, err
	}
	for _, id := range ids[:min(len(ids), maxPendingCalls)] {
		h.mu.Lock()
		call, isCached := h.calls[id]
		h.mu.Unlock()
		if !isCached {
			s, err := h.readSnapshot(ctx, id)
			if err != nil {
				continue // the next event reads it again
			}
			call = s.PendingCall()
			h.mu.Lock()
			if h.pending.has(s.UID) { // its end removes the call
				h.calls[id] = call
			}
			h.mu.Unlock()
		}
		list = append(list, call)
	}
	return list, nil
}

// resumeQuestion handles the repeated POST of a question. An existing answer is
// dispatched immediately to the address that the repeat names, after the response to
// the repeat itself. The poster sees the question as it was first asked: an approval of that
// must not count for different content.
func (h *Hub) resumeQuestion(ctx context.Context, s *postedEvent) {
	if !s.isQuestion() {
		return
	}
	id := s.event.ID
	h.mu.Lock()
	if h.unsentResponses[id] == nil {
		h.unsentResponses[id] = make(chan struct{})
	}
	h.mu.Unlock()
	if _, s.err = h.transition(ctx, id, (*question.Snapshot).UpdateWaiter); s.err == nil {
		s.first, s.err = h.readSnapshot(ctx, id)
	}
	if s.err != nil {
		h.ResponseSent(id)
		return
	}
	if s.first.Status.IsSettled() {
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Leased, ID: int64(id)}) // no commit reports the new address
	} else {
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Liveness, ID: int64(id)}) // another hub may have looked after it
	}
	ask, repeat := &s.first.Ask, s.Ask
	ask.ResponseWebSocketURL, ask.ListenerKey, ask.RequestSecret = repeat.ResponseWebSocketURL, repeat.ListenerKey, repeat.RequestSecret
	s.event, s.Ask = &s.first.Event, ask
}

// encode encodes the event for its poster. A question has its callback address, the number of
// viewers, and the request secret if the hub made it. A repeat without an own secret has
// the body of the first POST, and thus gets the secret again.
func (h *Hub) encode(ctx context.Context, s *postedEvent) {
	s.result = StoredEvent{ID: s.event.ID, HasQuestion: s.isQuestion(), Directive: s.receipt.Directive}
	if !s.result.HasQuestion {
		s.result.JSON = s.event.AppendJSON(nil, -1)
		return
	}
	event, echo := *s.event, *s.Ask
	echo.RequestSecret, echo.Nonce = "", ""
	var err error
	if event.Question, err = json.Marshal(echo); err != nil {
		s.err = fmt.Errorf("encode question: %w", err)
		return
	}
	b := event.AppendJSON(nil, -1)
	b = b[:len(b)-1]
	if s.Ask.RequestSecret == "" {
		b = append(append(append(b, `,"requestSecret":"`...), h.env.RequestSecret(event.UID)...), '"')
	}
	watching := h.Viewers.Count()
	if s.Ask.Appeal != nil {
		var reachable int
		watching, reachable = h.appealAudience(context.WithoutCancel(ctx), store.SessionKey{App: event.App, Session: event.Session})
		b = strconv.AppendInt(append(b, `,"reachable":`...), int64(reachable), 10)
	}
	if strings.Contains(string(event.Status), `"probe":true`) {
		watching = 1 // hookback doctor answers
	}
	b = append(b, `,"watching":`...)
	s.result.JSON = append(strconv.AppendInt(b, int64(watching), 10), '}')
}
