package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// An answer that can still be undone is held: it is checked and stored like any
// other, and its question stays pending. Whatever ends the question meanwhile
// drops it; left alone it becomes the answer when its time is up (asking.lapse).

// undoDeadlineMargin is how long before its question's deadline a held answer counts
// at the latest: it still has to get to an agent whose own clock runs out, too.
const undoDeadlineMargin = time.Second

// undoableUntil is when an answer given now counts; the zero time: at once.
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

// openUndoWindow is the change that keeps the end back until then. The end is made all the
// same: so the answer is checked now, and it is kept as it would be sent.
func (res *resolution) openUndoWindow(s *snapshot, now, until time.Time) (*store.Change, error) {
	change, err := res.change(s, now)
	if err != nil {
		return nil, err
	}
	st := s.status
	st.Held = &schema.PendingUndo{Until: schema.Millis(until.UnixMilli()), Outcome: res.outcome, By: res.by, Revision: res.seenRevision}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.UndoWindow = &store.UndoWindow{Answer: change.Answer, Until: until}
	return c, nil
}

// undoableResolution is the end that was held.
func (s *snapshot) undoableResolution() *resolution {
	return &resolution{
		state: outcomeState(s.undoableAnswer.Outcome), outcome: s.undoableAnswer.Outcome, source: s.undoableAnswer.Source,
		reason: s.undoableAnswer.Reason, by: s.status.Held.By, answer: *s.undoableAnswer, votes: s.undoableAnswer.Votes, seenRevision: s.status.Held.Revision,
	}
}

// Undo takes back an answer that is held: schema.ErrNotHeld when there is none any
// more.
func (h *Hub) Undo(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	if err := h.People.RequireOperator(caller.Who); err != nil {
		return nil, err
	}
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if held := s.status.Held; held != nil && requiresVotes(&s.status) && held.By.Name != caller.Who.Name {
			return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "It is the vote of " + held.By.Name + ", who alone can take it back."}
		}
		return s.undo()
	}))
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
