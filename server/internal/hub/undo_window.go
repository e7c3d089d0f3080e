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
func (a *snapshot) undoableUntil(now time.Time, r *schema.Response) time.Time {
	until := now.Add(time.Duration(r.HoldMS) * time.Millisecond)
	if last := a.Deadline.Add(-undoDeadlineMargin); !a.Deadline.IsZero() && until.After(last) {
		until = last
	}
	if !until.After(now) {
		return time.Time{}
	}
	return until
}

// openUndoWindow is the change that keeps the end back until then. The end is made all the
// same: so the answer is checked now, and it is kept as it would be sent.
func (e *resolution) openUndoWindow(a *snapshot, now, until time.Time) (*store.Change, error) {
	end, err := e.change(a, now)
	if err != nil {
		return nil, err
	}
	st := a.status
	st.Held = &schema.PendingUndo{Until: schema.Millis(until.UnixMilli()), Outcome: e.outcome, By: e.by, Revision: e.seenRevision}
	c, err := a.change(st)
	if err != nil {
		return nil, err
	}
	c.UndoWindow = &store.UndoWindow{Answer: end.Answer, Until: until}
	return c, nil
}

// undoableResolution is the end that was held.
func (a *snapshot) undoableResolution() *resolution {
	return &resolution{
		state: outcomeState(a.undoableAnswer.Outcome), outcome: a.undoableAnswer.Outcome, source: a.undoableAnswer.Source,
		reason: a.undoableAnswer.Reason, by: a.status.Held.By, answer: *a.undoableAnswer, votes: a.undoableAnswer.Votes, seenRevision: a.status.Held.Revision,
	}
}

// Undo takes back an answer that is held: schema.ErrNotHeld when there is none any
// more.
func (h *Hub) Undo(ctx context.Context, id schema.EventID, by Caller) ([]byte, error) {
	if err := h.People.RequireOperator(by.Who); err != nil {
		return nil, err
	}
	return eventJSON(h.transition(ctx, id, func(a *snapshot) (*store.Change, error) {
		if held := a.status.Held; held != nil && requiresVotes(&a.status) && held.By.Name != by.Who.Name {
			return nil, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "It is the vote of " + held.By.Name + ", who alone can take it back."}
		}
		return a.undo()
	}))
}

func (a *snapshot) undo() (*store.Change, error) {
	if a.undoableAnswer == nil {
		return nil, &schema.StatusError{Err: schema.ErrNotHeld, Status: a.status}
	}
	st := a.status
	st.Held = nil
	c, err := a.change(st)
	if err != nil {
		return nil, err
	}
	c.UndoWindow = &store.UndoWindow{}
	return c, nil
}
