package agentclient

import (
	"sync"

	"github.com/hookback/hookback/schema"
)

// pendingAsk is one question that waits. Push, pull, timeout and ctx race to end it;
// settle lets one of them win.
type pendingAsk struct {
	question *schema.HumanInTheLoop
	key      string // the event's idempotency key
	path     string // its secret path on the listener, "" when there is none
	fallback Fallback

	done            chan struct{}       // closed when the question has its end
	delivered       chan struct{}       // closed when Ask hands the decision over
	deadlineUpdates chan deadlineUpdate // the last word on how long the question waits

	mu       sync.Mutex
	id       schema.EventID // 0 until a hub gave one
	settled  bool
	answerID string // of the answer that settled it
	decision Decision
	err      error
}

func newPendingAsk(e *schema.Event, f Fallback) *pendingAsk {
	return &pendingAsk{
		question: e.HumanInTheLoop, key: e.IdempotencyKey, fallback: f,
		done: make(chan struct{}), delivered: make(chan struct{}), deadlineUpdates: make(chan deadlineUpdate, 1),
	}
}

// setEventID tells the waiter the number of its event.
func (w *pendingAsk) setEventID(id schema.EventID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = id
}

// resolve ends the question, unless it has an end already.
func (w *pendingAsk) resolve(d Decision, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resolveLocked(d, err)
}

func (w *pendingAsk) resolveLocked(d Decision, err error) bool {
	if w.settled {
		return false
	}
	d.EventID = w.id
	if err == nil && d.Outcome == schema.Timeout && w.question.OnTimeout == schema.FailRun {
		err = ErrTimedOut
	}
	w.settled, w.decision, w.err = true, d, err
	close(w.done)
	return true
}

// handleMessage gives the waiter a message and says what became of it, in the words of
// an acknowledgement. bad is why the message could not be read; like one that
// doesn't fit the question it ends the question with a denial, and is reported
// as a mismatch: no person's decision was carried out.
func (w *pendingAsk) handleMessage(m message, readErr error) (result string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settled {
		if m.AnswerID != "" && m.AnswerID == w.answerID {
			return schema.AckDuplicate
		}
		return schema.AckTooLate
	}
	if readErr == nil && w.isOtherEventLocked(m) {
		return schema.AckMismatch
	}
	if id, _ := m.eventRef(); w.id == 0 && m.AnswerID != "" {
		w.id = id // the answer was faster than the POST's own reply
	}
	var d Decision
	if readErr == nil {
		d, readErr = decide(w.question, m)
	}
	if readErr != nil {
		d.Kind = w.question.Type
		w.resolveLocked(w.fallback.malformedDecision(d, readErr))
		return schema.AckMismatch
	}
	w.answerID = m.AnswerID
	w.resolveLocked(d, nil)
	return schema.AckAccepted
}

// isOtherEventLocked reports whether a message is about somebody else's event. The
// key is the same at every hub, the id isn't: of two hubs that both stored the
// question (the first one's reply got lost) either may answer. Messages without
// an answerId come from version 1 servers, which echo what a browser sent: there
// the secret path alone says whose it is.
func (w *pendingAsk) isOtherEventLocked(m message) bool {
	id, key := m.eventRef()
	switch {
	case m.AnswerID == "":
		return false
	case key != "":
		return key != w.key
	default:
		return id != 0 && w.id != 0 && id != w.id
	}
}
