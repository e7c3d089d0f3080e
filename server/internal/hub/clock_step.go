package hub

import (
	"cmp"
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/question"
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
	h.expireGrantsAfterStep(ctx, now, step)
	pending, err := h.Store.Pending(ctx)
	for _, e := range pending {
		_, moveErr := h.transition(ctx, e.ID, func(s *question.Snapshot) (*store.Change, error) { return s.Shift(step) })
		err = cmp.Or(moveErr, err)
	}
	if err != nil {
		h.Log.Error("deadline shift failed; a question may expire at the wrong time", "err", err)
	}
}
