package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxClockDrift is how far wall clock and monotonic clock may diverge before deadlines
// are shifted.
const maxClockDrift = 5 * time.Second

// elapsed returns the monotonic time between two readings. It ignores changes of the
// wall clock and does not count time in which the machine slept.
func elapsed(from, to time.Time) time.Duration { return to.Sub(from) }

// detectClockStep shifts the deadlines and undo windows of pending questions when the
// wall clock was set or the machine slept. Rows store wall time, so that deadlines
// survive restarts, but a question's time limit is meant in elapsed time. The agent's
// own timer stopped while the machine slept, too.
func (h *Hub) detectClockStep(ctx context.Context) {
	h.clockMu.Lock()
	defer h.clockMu.Unlock()
	now := h.Clock()
	step := now.Round(0).Sub(h.clockChecked.Round(0)) - h.elapsed(h.clockChecked, now) // Round(0) strips the monotonic reading
	if step.Abs() < maxClockDrift {
		return
	}
	h.clockChecked = now
	h.Log.Warn("clock step or sleep detected; shifting the deadlines of pending questions", "step", step)
	h.shiftRules(ctx, now, step)
	pending, err := h.Store.Pending(ctx)
	for _, e := range pending {
		if moveErr := h.shiftDeadline(ctx, e.ID, step); moveErr != nil {
			err = moveErr
		}
	}
	if err != nil {
		h.Log.Error("deadline shift failed; a question may expire at the wrong time", "err", err)
	}
}

func (h *Hub) shiftDeadline(ctx context.Context, id schema.EventID, step time.Duration) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) { return s.shift(step) })
	return err
}

// shift moves the deadline, timers and undo window of a pending question by step.
func (s *snapshot) shift(step time.Duration) (*store.Change, error) {
	if s.status.IsSettled() || s.Deadline.IsZero() && s.UndoWindow == nil && s.Timers == (store.Timers{}) {
		return nil, nil
	}
	st, deadline, window, timers := s.status, s.Deadline, s.UndoWindow, s.Timers
	for _, at := range []*time.Time{&timers.Remind, &timers.Escalate} {
		if !at.IsZero() {
			*at = at.Add(step)
		}
	}
	if !deadline.IsZero() {
		deadline = deadline.Add(step)
		st.ExpiresAt = schema.Millis(deadline.UnixMilli())
	}
	if window != nil {
		window = &store.UndoWindow{Answer: window.Answer, Until: window.Until.Add(step)}
		pendingUndo := *st.Held
		pendingUndo.Until = schema.Millis(window.Until.UnixMilli())
		st.Held = &pendingUndo
	}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Deadline, c.UndoWindow, c.Timers = deadline, window, &timers
	return c, nil
}
