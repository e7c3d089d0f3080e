package agentclient

import (
	"sync"

	"github.com/hookback/hookback/schema"
)

// waiter is one question that waits. Push, pull, timeout and ctx race to end it;
// settle lets one of them win.
type waiter struct {
	question *schema.HumanInTheLoop
	key      string // the event's idempotency key
	path     string // its secret path on the listener, "" when there is none
	fallback Fallback

	done  chan struct{} // closed when the question has its end
	taken chan struct{} // closed when Ask hands the decision over
	moved chan lasts    // the last word on how long the question waits

	mu       sync.Mutex
	id       schema.EventID // 0 until a hub gave one
	settled  bool
	answerID string // of the answer that settled it
	decision Decision
	err      error
}

func newWaiter(e *schema.Event, f Fallback) *waiter {
	return &waiter{
		question: e.HumanInTheLoop, key: e.IdempotencyKey, fallback: f,
		done: make(chan struct{}), taken: make(chan struct{}), moved: make(chan lasts, 1),
	}
}

// posted tells the waiter the number of its event.
func (w *waiter) posted(id schema.EventID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id = id
}

// settle ends the question, unless it has an end already.
func (w *waiter) settle(d Decision, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.settleLocked(d, err)
}

func (w *waiter) settleLocked(d Decision, err error) bool {
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

// offer gives the waiter a message and says what became of it, in the words of
// an acknowledgement. bad is why the message could not be read; like one that
// doesn't fit the question it ends the question with a denial, and is reported
// as a mismatch: no person's decision was carried out.
func (w *waiter) offer(m message, bad error) (result string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settled {
		if m.AnswerID != "" && m.AnswerID == w.answerID {
			return schema.AckDuplicate
		}
		return schema.AckTooLate
	}
	if bad == nil && w.strangerLocked(m) {
		return schema.AckMismatch
	}
	if id, _ := m.event(); w.id == 0 && m.AnswerID != "" {
		w.id = id // the answer was faster than the POST's own reply
	}
	var d Decision
	if bad == nil {
		d, bad = decide(w.question, m)
	}
	if bad != nil {
		d.Kind = w.question.Type
		w.settleLocked(w.fallback.malformed(d, bad))
		return schema.AckMismatch
	}
	w.answerID = m.AnswerID
	w.settleLocked(d, nil)
	return schema.AckAccepted
}

// strangerLocked reports whether a message is about somebody else's event. The
// key is the same at every hub, the id isn't: of two hubs that both stored the
// question (the first one's reply got lost) either may answer. Messages without
// an answerId come from version 1 servers, which echo what a browser sent: there
// the secret path alone says whose it is.
func (w *waiter) strangerLocked(m message) bool {
	id, key := m.event()
	switch {
	case m.AnswerID == "":
		return false
	case key != "":
		return key != w.key
	default:
		return id != 0 && w.id != 0 && id != w.id
	}
}
