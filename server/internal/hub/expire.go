package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// cancelForSessionEnd settles a question whose session has ended.
func (h *Hub) cancelForSessionEnd(ctx context.Context, id schema.EventID) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if s.status.IsSettled() {
			return nil, nil
		}
		res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.BySessionEnd}
		return res.change(s, h.Clock())
	})
	return err
}

// Reasons of abandoned questions (source schema.ByOrphaned).
const (
	ReasonAgentGone  = "the agent is gone"
	ReasonHubStopped = "the hub stopped while the agent waited; the agent now asks in its own prompt"
)

// abandonHeldHooks settles the questions of requests that were waiting when the hub
// stopped.
func (h *Hub) abandonHeldHooks(ctx context.Context) error {
	for last := schema.EventID(0); ; {
		ids, err := h.Store.Lifelines(ctx, store.ByRequest, last, 256)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if last = id; int64(id) > h.startSeq {
				return nil
			}
			if err := h.Abandon(ctx, id, "", ReasonHubStopped); err != nil {
				return err
			}
		}
	}
}

// Abandon settles a question whose agent no longer waits at url, the last listener it
// named, or, if url is empty, in the request that posted it. It sends the agent
// nothing.
func (h *Hub) Abandon(ctx context.Context, id schema.EventID, url, reason string) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if s.status.IsSettled() || s.URL != url {
			return nil, nil
		}
		s.status.Waiter = schema.Lost
		res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.ByOrphaned, reason: reason, silent: true}
		return res.change(s, h.Clock())
	})
	return err
}

// expire handles the due times of a question: the end of its undo window, its deadline
// and its timers.
func (h *Hub) expire(ctx context.Context, id schema.EventID) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		now := h.Clock()
		if s.undoableAnswer != nil && !now.Before(s.UndoWindow.Until) && !h.isHeldAnswerValid(s) {
			return s.dropHeldAnswer() // the responder lost the authority before the answer became final
		}
		if c, err := s.expire(now); c != nil || err != nil {
			return c, err
		}
		return h.runTimers(s, now)
	})
	if err != nil {
		return err
	}
	return h.endUnreachable(ctx, id) // a vote was undone, or an escalation added no one
}

// expire settles a question with the answer whose undo window has ended, or at its
// deadline. It returns nil if neither is due: the question may have been settled,
// undone or extended in the meantime.
func (s *snapshot) expire(now time.Time) (*store.Change, error) {
	switch {
	case s.status.IsSettled():
		return nil, nil
	case s.undoableAnswer != nil && !now.Before(s.UndoWindow.Until):
		return s.closeUndoWindow(now)
	case !s.Deadline.IsZero() && !now.Before(s.Deadline):
		res := resolution{state: schema.TimedOut, outcome: schema.Timeout, source: schema.ByTimeout}
		return res.change(s, now)
	default:
		return nil, nil
	}
}

// Run settles questions at their deadlines and at the end of undo windows, and runs
// their timers, until ctx ends. Due times are stored in rows, so a time that passed
// while the hub was down is handled at startup.
func (h *Hub) Run(ctx context.Context) error {
	if err := h.abandonHeldHooks(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("abandon questions from before the hub stopped: %w", err)
	}
	if h.rules.Load() != nil {
		h.applyRulesToPending(ctx, 0)
	}
	wake(h.votersChanged) // accounts may have changed while the hub was down
	for ctx.Err() == nil {
		h.detectClockStep(ctx)
		more, next, err := h.expireDue(ctx)
		if err != nil && ctx.Err() == nil {
			h.Log.Error("expiring questions failed", "retry_in", time.Second, "err", err)
			next = h.Clock().Add(time.Second)
		}
		if !more || err != nil {
			h.waitForDue(ctx, next)
		}
	}
	return ctx.Err()
}

// expireDue expires the questions that are due. more is set if there may be others;
// next is the next due time.
func (h *Hub) expireDue(ctx context.Context) (more bool, next time.Time, err error) {
	due, next, err := h.Store.DueQuestions(ctx, h.Clock(), 256)
	for _, id := range due {
		err = errors.Join(err, h.expire(ctx, id))
	}
	return len(due) > 0, next, err
}

// waitForDue blocks until next (never, if zero), until a due time may have changed, or
// until ctx ends. It ends the questions that no one can decide after accounts changed.
func (h *Hub) waitForDue(ctx context.Context, next time.Time) {
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(next.Sub(h.Clock()))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-h.deadlineChanged:
	case <-h.votersChanged:
		h.endUnreachableQuorums(ctx)
	case <-ctx.Done():
	}
}
