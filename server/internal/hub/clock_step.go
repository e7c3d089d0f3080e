package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxClockDrift is how far the wall clock may get away from the time that passes.
const maxClockDrift = 5 * time.Second

// elapsed is the time that passed between two readings of the clock, whatever was
// done to the wall clock meanwhile and not counting the machine's sleep.
func elapsed(from, to time.Time) time.Duration { return to.Sub(from) }

// detectClockStep moves the deadlines of pending questions, and the ends of holds, along when the wall clock
// was set, or the machine slept: rows hold wall time, for restarts, but a question
// has its time to answer in time that passes. Its agent's own timer stood still
// with the machine, too.
func (h *Hub) detectClockStep(ctx context.Context) {
	h.clockMu.Lock()
	defer h.clockMu.Unlock()
	now := h.Clock()
	step := now.Round(0).Sub(h.clockChecked.Round(0)) - h.elapsed(h.clockChecked, now) // Round(0) leaves wall time alone
	if step.Abs() < maxClockDrift {
		return
	}
	h.clockChecked = now
	h.Log.Warn("the clock was moved, or the machine slept; the deadlines of open questions move along", "by", step)
	h.shiftRules(ctx, now, step)
	pending, err := h.Store.Pending(ctx)
	for _, e := range pending {
		if moveErr := h.shiftDeadline(ctx, e.ID, step); moveErr != nil {
			err = moveErr
		}
	}
	if err != nil {
		h.Log.Error("a deadline could not be moved; its question may end at the wrong time", "err", err)
	}
}

func (h *Hub) shiftDeadline(ctx context.Context, id schema.EventID, step time.Duration) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) { return s.shift(step) })
	return err
}

// shift gives a pending question so much more time, and one who may want to undo
// an answer, too.
func (s *snapshot) shift(step time.Duration) (*store.Change, error) {
	if s.status.Settled() || s.Deadline.IsZero() && s.UndoWindow == nil && s.Timers == (store.Timers{}) {
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
		held := *st.Held
		held.Until = schema.Millis(window.Until.UnixMilli())
		st.Held = &held
	}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Deadline, c.UndoWindow, c.Timers = deadline, window, &timers
	return c, nil
}
