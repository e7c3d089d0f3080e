package agentclient

import (
	"context"
	"errors"
	"sync"

	"github.com/hookback/hookback/schema"
)

// pendingAsk is the state of one pending question. Push, pull, timeout and ctx race to
// resolve it; resolve lets exactly one of them win.
type pendingAsk struct {
	question *schema.HumanInTheLoop
	key      string // the event's idempotency key
	path     string // secret path on the listener; empty without one
	fallback fallback
	// verify returns the values of a message that the account's trusted hub signed for
	// this question, or the whole message if no hub is trusted. nil accepts everything.
	verify func(context.Context, message) (message, error)

	done            chan struct{}       // closed when the question is resolved
	delivered       chan struct{}       // closed when Ask returns the decision
	deadlineUpdates chan deadlineUpdate // holds the latest update only

	mu       sync.Mutex
	id       schema.EventID // 0 until a hub assigned one
	settled  bool
	answerID string // id of the answer that settled the question
	decision Decision
	err      error
}

func newPendingAsk(event *schema.Event, f fallback) *pendingAsk {
	return &pendingAsk{
		question: event.HumanInTheLoop, key: event.IdempotencyKey, fallback: f,
		done: make(chan struct{}), delivered: make(chan struct{}), deadlineUpdates: make(chan deadlineUpdate, 1),
	}
}

// open decodes a message and verifies it. With an error it returns the fields that could
// be decoded, AnswerID in particular.
func (p *pendingAsk) open(ctx context.Context, frame []byte) (message, error) {
	m, err := readMessage(frame)
	if err != nil || p.verify == nil {
		return m, err
	}
	verified, err := p.verify(ctx, m)
	if err != nil {
		return m, err
	}
	return verified, nil
}

// setEventID records the id that the hub assigned to the event.
func (p *pendingAsk) setEventID(id schema.EventID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id = id
}

// resolve ends the question and reports whether it did: the first resolution wins.
func (p *pendingAsk) resolve(d Decision, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resolveLocked(d, err)
}

func (p *pendingAsk) resolveLocked(d Decision, err error) bool {
	if p.settled {
		return false
	}
	d.EventID = p.id
	if err == nil && d.Outcome == schema.Timeout && p.question.OnTimeout == schema.FailRun {
		err = ErrTimedOut
	}
	p.settled, p.decision, p.err = true, d, err
	close(p.done)
	return true
}

// applyMessage applies an answer and returns the result for its acknowledgment.
// readErr is the error of decoding the message, if any. A message that could not be
// decoded, does not fit the question or is not from a trusted hub denies it, and is not
// acknowledged as accepted because no person's decision was carried out.
func (p *pendingAsk) applyMessage(m message, readErr error) (result string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled {
		if m.AnswerID != "" && m.AnswerID == p.answerID {
			return schema.AckDuplicate
		}
		return schema.AckTooLate
	}
	if readErr == nil && p.isOtherEventLocked(m) {
		return schema.AckMismatch
	}
	if id, _ := m.eventRef(); p.id == 0 && m.AnswerID != "" {
		p.id = id // the answer arrived before the reply to the POST
	}
	var d Decision
	if readErr == nil {
		d, readErr = decide(p.question, m)
	}
	if readErr != nil {
		d.Kind = p.question.Type
		p.resolveLocked(p.fallback.malformedDecision(d, readErr))
		if seal := (*sealError)(nil); errors.As(readErr, &seal) && seal.untrusted {
			return schema.AckUntrusted
		}
		return schema.AckMismatch
	}
	p.answerID = m.AnswerID
	p.resolveLocked(d, nil)
	return schema.AckAccepted
}

// isOtherEventLocked reports whether a message belongs to another event. The
// idempotency key is the same at every hub, the id is not: if two hubs stored the
// question because the first reply was lost, either may answer. Messages without
// an answerId come from version 1 servers, which echo the event that the browser sent,
// so only the secret path identifies their question. A signature names its question.
func (p *pendingAsk) isOtherEventLocked(m message) bool {
	id, key := m.eventRef()
	switch {
	case m.AnswerID == "" || m.signed:
		return false
	case key != "":
		return key != p.key
	default:
		return id != 0 && p.id != 0 && id != p.id
	}
}
