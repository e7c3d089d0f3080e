package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// cancelForSessionEnd ends a question of a session that is over.
func (h *Hub) cancelForSessionEnd(ctx context.Context, id schema.EventID) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if s.status.Settled() {
			return nil, nil
		}
		res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.BySessionEnd}
		return res.change(s, h.Clock())
	})
	return err
}

// Why a question is orphaned.
const (
	AgentGone  = "the agent is gone"
	HubStopped = "the hub was stopped while the agent waited, which asks in its own prompt now"
)

// abandonHeldHooks ends the questions of requests that waited when the hub stopped.
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
			if err := h.Abandon(ctx, id, "", HubStopped); err != nil {
				return err
			}
		}
	}
}

// Abandon ends a question that nobody waits for any more at url, the listener it named
// last, or by the request that asked it, when that is empty. The agent is told
// nothing: it is not there.
func (h *Hub) Abandon(ctx context.Context, id schema.EventID, url, reason string) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if s.status.Settled() || s.URL != url {
			return nil, nil
		}
		s.status.Waiter = schema.Lost
		res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.ByOrphaned, reason: reason, silent: true}
		return res.change(s, h.Clock())
	})
	return err
}

// expire does what is due for a question whose time has come.
func (h *Hub) expire(ctx context.Context, id schema.EventID) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		now := h.Clock()
		if by := s.status.Held; s.undoableAnswer != nil && by.By.Verified && !now.Before(s.UndoWindow.Until) && !h.voteStillValid(by.By.Name, s.undoableAnswer.RespondedAt) {
			return s.undo() // who gave it was sent away before it counted
		}
		if c, err := s.expire(now); c != nil || err != nil {
			return c, err
		}
		return h.runTimers(s, now)
	})
	return err
}

// expire ends a question with the answer that was held until now, or else at its
// deadline. Meanwhile it may have been settled, or undone, or have got more time.
func (s *snapshot) expire(now time.Time) (*store.Change, error) {
	switch {
	case s.status.Settled():
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

// Run ends questions at their deadlines, and those with a held answer when that
// counts, and does what their timers are due for, until ctx ends. These times are
// rows: one that passed while the hub was down is found at once.
func (h *Hub) Run(ctx context.Context) error {
	if err := h.abandonHeldHooks(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("ending what was asked before the hub stopped: %w", err)
	}
	if h.rules.Load() != nil {
		h.applyRulesToPending(ctx, 0)
	}
	for ctx.Err() == nil {
		h.detectClockStep(ctx)
		more, next, err := h.expireDue(ctx)
		if err != nil && ctx.Err() == nil {
			h.Log.Error("ending questions whose time is up; trying again in a second", "err", err)
			next = h.Clock().Add(time.Second)
		}
		if !more || err != nil {
			h.waitForDue(ctx, next)
		}
	}
	return ctx.Err()
}

// expireDue ends the questions whose time is up; more is set when there may be
// others, next is when the next one's is.
func (h *Hub) expireDue(ctx context.Context) (more bool, next time.Time, err error) {
	due, next, err := h.Store.DueQuestions(ctx, h.Clock(), 256)
	for _, id := range due {
		err = errors.Join(err, h.expire(ctx, id))
	}
	return len(due) > 0, next, err
}

// waitForDue waits until the next question is due, for news of one, or the end of ctx.
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
	case <-ctx.Done():
	}
}
