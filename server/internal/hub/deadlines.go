package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// Run settles questions at their deadlines and at the end of undo windows, and runs
// their timers, until ctx ends. Due times are stored in rows, so a time that passed
// while the hub was down is handled at startup.
func (h *Hub) Run(ctx context.Context) error {
	defer h.requests.stop()
	if err := h.resumeRequests(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("abandon questions from before the hub stopped: %w", err)
	}
	checkQuorums, checkOrphans := false, false // accounts or hubs changed since the last complete check
	return h.Feed.Follow(ctx, feed.NewQuestion|feed.Deadline|feed.Undo|feed.Accounts|feed.Rules|feed.Members, func(b *feed.Batch) error {
		if b.Has(feed.Rules) && h.rules.Load() != nil { // also at the start: the hub may have stopped before a rule answered
			h.applyRulesToPending(ctx, 0)
		}
		if b.Has(feed.Accounts) { // also at the start: accounts may have changed while the hub was down
			checkQuorums = true
		}
		checkOrphans = checkOrphans || b.Has(feed.Members)
		b.Timer = h.expireAll(ctx)
		if checkOrphans {
			err := h.endOrphans(ctx)
			if checkOrphans = err != nil && ctx.Err() == nil; checkOrphans {
				h.Log.Error("questions of hubs that are gone not ended", "retry_in", time.Second, "err", err)
				b.Timer = time.After(time.Second)
			}
		}
		if checkQuorums {
			err := h.endUnreachableQuorums(ctx)
			if checkQuorums = err != nil && ctx.Err() == nil; checkQuorums {
				h.Log.Error("quorum check failed; a question that no one can decide may stay pending", "retry_in", time.Second, "err", err)
				b.Timer = time.After(time.Second)
			}
		}
		return nil
	})
}

// expireAll expires the questions that are due, and returns a timer for the next one; nil if
// there is none.
func (h *Hub) expireAll(ctx context.Context) <-chan time.Time {
	for ctx.Err() == nil {
		h.detectClockStep(ctx)
		more, next, err := h.expireDue(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			h.Log.Error("expiring questions failed", "retry_in", time.Second, "err", err)
			return time.After(time.Second)
		case more:
			continue
		}
		if at := h.expireGrants(ctx, h.dueTime()); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
		if next.IsZero() {
			return nil
		}
		return time.After(next.Sub(h.dueTime()))
	}
	return nil
}

// leaderLead is how long only the leader acts on due work. Others would mostly lose the race.
const leaderLead = 500 * time.Millisecond

// dueTime returns the time up to which this hub acts on due work.
func (h *Hub) dueTime() time.Time {
	if h.Store.IsLeader() {
		return h.Clock()
	}
	return h.Clock().Add(-leaderLead)
}

// expireDue expires the questions that are due. more is set if there may be others;
// next is the next due time.
func (h *Hub) expireDue(ctx context.Context) (more bool, next time.Time, err error) {
	due, next, err := h.Store.DueQuestions(ctx, h.dueTime(), 256)
	for _, id := range due {
		err = errors.Join(err, h.expire(ctx, id))
	}
	return len(due) > 0, next, err
}

// expire handles the due times of a question: the end of its undo window, its deadline
// and its timers.
func (h *Hub) expire(ctx context.Context, id schema.EventID) error {
	event, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		now := h.Clock()
		if err := s.EscalationError(now); err != nil {
			h.Log.Error("escalation recipients not found; the question stays with its current recipients", "event", id, "err", err)
		}
		return s.Expire(now)
	})
	if err != nil {
		return err
	}
	h.sendNotice(ctx, question.NoticeOf(event)) // its undo window may have ended
	return h.endUnreachable(ctx, id)            // a vote was undone, or an escalation added no one
}

// endUnreachable ends a question that no one can decide any more.
func (h *Hub) endUnreachable(ctx context.Context, id schema.EventID) error {
	_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		return s.EndUnreachable(h.Clock())
	})
	return err
}

// endUnreachableQuorums ends all pending questions whose quorum is unreachable.
func (h *Hub) endUnreachableQuorums(ctx context.Context) error {
	pending, err := h.Store.Pending(ctx)
	for _, e := range pending {
		var st schema.Status
		if json.Unmarshal(e.Status, &st) == nil && len(st.Recipients) > 0 {
			err = errors.Join(err, h.endUnreachable(ctx, e.ID))
		}
	}
	return err
}

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
	if step < 0 { // no grant is valid longer than people were told
		h.expireGrants(ctx, now.Add(question.LaterGrantLifetime-step))
	}
	h.shiftRules(ctx, now, step)
	pending, err := h.Store.Pending(ctx)
	for _, e := range pending {
		_, moveErr := h.transition(ctx, e.ID, func(s *question.Snapshot) (*store.Change, error) { return s.Shift(step) })
		err = cmp.Or(moveErr, err)
	}
	if err != nil {
		h.Log.Error("deadline shift failed; a question may expire at the wrong time", "err", err)
	}
}

// shiftRules shifts the expiry of rules when the clock was set back, so that they don't
// stay active longer. After a forward step or sleep they keep their wall time and end
// early: eight hours are eight hours.
func (h *Hub) shiftRules(ctx context.Context, now time.Time, step time.Duration) {
	if step >= 0 || h.rules.Load() == nil {
		return
	}
	err := h.Store.ShiftRules(ctx, now, step)
	if err = cmp.Or(err, h.loadRules(ctx)); err != nil {
		h.rules.Store(nil)
		h.Log.Error("shifting the expiry of rules failed; no rule is active", "err", err)
	}
}

// expireGrants ends the grants that have expired at now, and returns when to call it again; zero:
// when there is a new grant.
func (h *Hub) expireGrants(ctx context.Context, now time.Time) (next time.Time) {
	next, err := h.Store.ExpireGrants(ctx, now)
	if err != nil && ctx.Err() == nil {
		h.Log.Error("expired grants not recorded; they can't be used", "retry_in", time.Second, "err", err)
		return now.Add(time.Second)
	}
	return next
}
