package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

// Undo window: an answer with HoldMS is checked and stored like any other, but its
// question stays pending until the window ends. Any other resolution in the meantime
// drops the answer. Otherwise it becomes final when the window ends (snapshot.expire).

// undoDeadlineMargin is the time before the question's deadline at which its undo
// window ends at the latest: the answer still has to reach an agent whose own timer is
// running out.
const undoDeadlineMargin = time.Second

// undoableUntil returns when an answer given now becomes final. The zero time means
// immediately.
func (s *snapshot) undoableUntil(now time.Time, r *schema.Response) time.Time {
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
func (res *resolution) openUndoWindow(s *snapshot, now, until time.Time) (*store.Change, error) {
	_, answer, err := res.finalAnswer(s, now)
	if err != nil {
		return nil, err
	}
	st := s.status
	st.Held = &schema.PendingUndo{Until: schema.Millis(until.UnixMilli()), Outcome: res.outcome, By: res.by, Revision: res.seenRevision}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.UndoWindow = &store.UndoWindow{Answer: answer, Until: until}
	return c, nil
}

// undoableResolution returns the resolution in the undo window.
func (s *snapshot) undoableResolution() *resolution {
	return &resolution{
		state: outcomeState(s.undoableAnswer.Outcome), outcome: s.undoableAnswer.Outcome, source: s.undoableAnswer.Source,
		reason: s.undoableAnswer.Reason, by: s.status.Held.By, answer: *s.undoableAnswer, votes: s.undoableAnswer.Votes, seenRevision: s.status.Held.Revision,
	}
}

// Undo drops the answer in the undo window and returns the event. It returns
// schema.ErrNotHeld if there is none (any more).
func (h *Hub) Undo(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	e, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if held := s.status.Held; held != nil && requiresVotes(&s.status) && held.By.Name != caller.Identity.Name {
			return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "It is the vote of " + held.By.Name + ". Only they can undo it."}
		}
		if err := s.requireRecipientCaller(caller); err != nil {
			return nil, err
		}
		return s.undo()
	})
	if err == nil {
		wake(h.votersChanged) // the quorum may have become unreachable during the undo window
	}
	return eventJSON(e, err)
}

// isHeldAnswerValid reports whether the responder of the answer in the undo window may still
// give it: the account is the same and may answer, or the hub is still open to callers without
// credentials.
func (h *Hub) isHeldAnswerValid(s *snapshot) bool {
	by := s.status.Held.By
	if !by.Verified {
		return h.People.Check(schema.AccessDecide, auth.Identity{}) == nil
	}
	return h.voteStillValid(by.Name, s.undoableAnswer.RespondedAt)
}

// dropHeldAnswer is undo by the hub, which is recorded in the audit log.
func (s *snapshot) dropHeldAnswer() (*store.Change, error) {
	held := s.status.Held
	c, err := s.undo()
	if err != nil {
		return nil, err
	}
	c.Ledger = append(c.Ledger, store.LedgerRecord{Action: "question.answer_dropped", Actor: hubName, QuestionID: s.ID, Data: struct {
		By      string         `json:"by"`
		Outcome schema.Outcome `json:"outcome"`
	}{held.By.Name, held.Outcome}})
	return c, nil
}

// AfterLock drops the answers of callers without credentials that are in their undo window, and
// reloads the rules, of which the lock has revoked some.
func (h *Hub) AfterLock(ctx context.Context) {
	if err := h.loadRules(ctx); err != nil {
		h.Log.Error("rule reload after the lock failed; no rule is active", "err", err)
	}
	ids, err := h.Store.OpenUndoWindows(ctx)
	if err != nil {
		h.Log.Error("open undo windows not read; they are checked when they end", "err", err)
	}
	for _, id := range ids {
		_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
			if s.undoableAnswer == nil || h.isHeldAnswerValid(s) {
				return nil, nil
			}
			return s.dropHeldAnswer()
		})
		if err != nil {
			h.Log.Error("answer of a caller without credentials not dropped; it is checked when its undo window ends", "event", id, "err", err)
		}
	}
}

func (s *snapshot) undo() (*store.Change, error) {
	if s.undoableAnswer == nil {
		return nil, &schema.StatusError{Err: schema.ErrNotHeld, Status: s.status}
	}
	st := s.status
	st.Held = nil
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.UndoWindow = &store.UndoWindow{}
	return c, nil
}
