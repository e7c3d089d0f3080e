package question

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/peer"
	"github.com/hookback/hookback/server/internal/store"
)

// Undo window: an answer with HoldMS is checked and stored like any other, but its
// question stays pending until the window ends. Any other resolution in the meantime
// drops the answer. Otherwise it becomes final when the window ends (Snapshot.Expire).

// undoableAnswer is an answer in its undo window, as it is stored.
type undoableAnswer struct {
	schema.Answer
	Process *peer.Program `json:"process,omitempty"` // see responder
}

// undoDeadlineMargin is the time before the question's deadline at which its undo
// window ends at the latest: the answer still has to reach an agent whose own timer is
// running out.
const undoDeadlineMargin = time.Second

// undoableUntil returns when an answer given now becomes final. The zero time means
// immediately.
func (s *Snapshot) undoableUntil(now time.Time, r *schema.Response) time.Time {
	until := now.Add(time.Duration(r.HoldMS) * time.Millisecond)
	if last := s.Deadline.Add(-undoDeadlineMargin); !s.Deadline.IsZero() && until.After(last) {
		until = last
	}
	if !until.After(now) {
		return time.Time{}
	}
	return until
}

// openUndoWindow returns the change that stores the resolution until the undo window
// ends. The answer is validated now, in the form in which it will be sent, and signed when
// it becomes final.
func (res *resolution) openUndoWindow(s *Snapshot, now, until time.Time) (*store.Change, error) {
	answer, _, err := res.finalAnswer(s, now)
	if err != nil {
		return nil, err
	}
	kept, err := json.Marshal(undoableAnswer{*answer, res.by.Process})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	st := s.Status
	st.Held = &schema.PendingUndo{
		Until: schema.Millis(until.UnixMilli()), Outcome: res.outcome, By: res.by.public(), Revision: res.seenRevision,
	}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.UndoWindow, c.Approves = &store.UndoWindow{Answer: kept, Until: until}, res.approves()
	return c, nil
}

// undoableResolution returns the resolution in the undo window.
func (s *Snapshot) undoableResolution() *resolution {
	return &resolution{
		state: outcomeState(s.undoable.Outcome), outcome: s.undoable.Outcome, source: s.undoable.Source,
		reason: s.undoable.Reason, by: &responder{*s.Status.Held.By, s.undoable.Process}, answer: s.undoable.Answer, votes: s.undoable.Votes, seenRevision: s.Status.Held.Revision,
	}
}

// dropHeldAnswer is undo by the hub, which is recorded in the audit log.
func (s *Snapshot) dropHeldAnswer() (*store.Change, error) {
	held := s.Status.Held
	c, err := s.undo()
	if err != nil {
		return nil, err
	}
	c.Ledger = append(c.Ledger, store.LedgerRecord{Action: "question.answer_dropped", Actor: HubActor, QuestionID: s.ID, Data: struct {
		By      string         `json:"by"`
		Outcome schema.Outcome `json:"outcome"`
	}{held.By.Name, held.Outcome}})
	return c, nil
}

// undo drops the answer in the undo window.
func (s *Snapshot) undo() (*store.Change, error) {
	if s.undoable == nil {
		return nil, &schema.StatusError{Err: schema.ErrNotHeld, Status: s.Status}
	}
	st := s.Status
	st.Held = nil
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.UndoWindow = &store.UndoWindow{}
	return c, nil
}

// Undo drops the answer in the undo window on behalf of from. It fails with schema.ErrNotHeld
// if there is none (any more).
func (s *Snapshot) Undo(from Actor) (*store.Change, error) {
	if held := s.Status.Held; held != nil && requiresVotes(&s.Status) && held.By.Name != from.Name {
		return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "It is the vote of " + held.By.Name + ". Only they can undo it."}
	}
	if err := s.requireRecipient(from.responder(nil)); err != nil {
		return nil, err
	}
	return s.undo()
}

// DropInvalidAnswer drops the answer in the undo window if its responder may no longer give it.
func (s *Snapshot) DropInvalidAnswer() (*store.Change, error) {
	if s.undoable == nil || s.isHeldAnswerValid() {
		return nil, nil
	}
	return s.dropHeldAnswer()
}

// isHeldAnswerValid reports whether the responder of the answer in the undo window may still
// give it: the account is the same and may answer, or the hub is still open to callers without
// credentials.
//
// An approval is not valid while its agent is frozen.
func (s *Snapshot) isHeldAnswerValid() bool {
	if approves(s.undoable.Outcome) && s.freeze() != nil {
		return false
	}
	by := s.Status.Held.By
	if !by.Verified {
		return s.env.Accounts.Access().AllowsAnonymous
	}
	return s.env.canStillAnswer(by.Name, int64(s.undoable.RespondedAt))
}
