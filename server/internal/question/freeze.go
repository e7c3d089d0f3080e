package question

import (
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// While a freeze stops an agent, its questions take denials only. New permissions are denied at
// once, so that no agent waits for an answer that no one may give, and so are those whose program
// keeps a connection open for the answer: it would go on waiting, with its own dialog open. The
// others stay pending, as do choices and texts, and can be answered after the freeze. The store checks
// approvals again in their transaction (store.Change.Approves).

// freeze returns the freeze that stops the question's agent, or nil.
func (s *Snapshot) freeze() *control.Freeze {
	if s.env.Freezes == nil {
		return nil
	}
	return s.env.Freezes.FreezeOf(s.App, s.Session)
}

// requireNotFrozen rejects an answer with this outcome that lets a frozen agent continue.
func (s *Snapshot) requireNotFrozen(outcome schema.Outcome) error {
	f := s.freeze()
	if f == nil || !approves(outcome) {
		return nil
	}
	return frozenError(f, &s.Status)
}

func frozenError(f *control.Freeze, st *schema.Status) error {
	return &schema.HintError{
		Err:  &schema.StatusError{Err: schema.ErrFrozen, Status: *st},
		Hint: f.Notice().Text() + " Nothing was approved. You can deny, or resume the agent first.",
	}
}

// DenyFrozen returns the change that denies a permission of a frozen agent, or nil if the agent
// is not frozen or the question is no pending permission.
func (s *Snapshot) DenyFrozen(now time.Time) (*store.Change, error) {
	f := s.freeze()
	if f == nil || s.Ask.Type != schema.Permission || s.Status.IsSettled() {
		return nil, nil
	}
	denied := false
	res := &resolution{
		state: schema.Responded, outcome: schema.Deny, source: schema.ByFreeze, reason: f.Notice().Text(),
		answer: schema.Answer{Permission: &denied, Interrupt: s.Ask.Interruptible},
	}
	return res.change(s, now)
}
