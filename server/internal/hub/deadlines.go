package hub

import (
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
	defer h.requests.Stop()
	if err := h.requests.Resume(ctx); err != nil && ctx.Err() == nil {
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
			err := h.requests.EndOrphans(ctx)
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

// eachLifeline calls fn with the pending questions of the lifeline up to the position in the log.
func (h *Hub) eachLifeline(ctx context.Context, of store.Lifeline, upTo int64, fn func(schema.EventID) error) error {
	for last := schema.EventID(0); ; {
		ids, err := h.Store.Lifelines(ctx, of, last, 256)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if last = id; int64(id) > upTo {
				return nil
			}
			if err := fn(id); err != nil {
				return err
			}
		}
	}
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
	h.sendReason(ctx, event)         // its undo window may have ended
	return h.endUnreachable(ctx, id) // a vote was undone, or an escalation added no one
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
