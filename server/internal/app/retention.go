package app

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// pruneEvery is the interval of retention runs.
const pruneEvery = 10 * time.Minute

// runRetention removes old events at start and every pruneEvery until ctx ends.
func (a *App) runRetention(ctx context.Context) error {
	for {
		pruned, err := a.store.Prune(ctx, a.retentionPolicy(time.Now()))
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // stopping is no error
		case err != nil:
			a.log.Error("retention failed", "retry_in", pruneEvery, "err", err)
		case pruned != store.PruneResult{}:
			a.log.Info("retention removed old data", "events", pruned.Events, "questions", pruned.Questions)
		}
		if !feed.Sleep(ctx, pruneEvery) {
			return nil
		}
	}
}

// projectionRetention is one day more than the longest overview, independent of the
// retention of events.
const projectionRetention = (history.MaxDays + 1) * day

// retentionPolicy returns what a run at this monotonic time removes. Nothing is removed because of
// its age while the clock is in doubt.
func (a *App) retentionPolicy(running time.Time) store.RetentionPolicy {
	p := store.RetentionPolicy{MaxBytes: max(a.cfg.RetentionSize, 0)}
	now := a.cfg.Clock()
	trusted, jump := a.retentionClock.check(now, running)
	if jump > 0 {
		a.log.Warn("the clock is ahead of the newest event or was set forward: old events are kept until the hub has run for an hour, because a wrong clock would remove the history; -trust-clock removes them at once",
			"clock", now, "ahead", jump)
	}
	if !trusted {
		return p
	}
	if a.cfg.Retention > 0 {
		p.EventsBefore = now.Add(-a.cfg.Retention)
	}
	if a.cfg.RetentionQuestions > 0 {
		p.QuestionsBefore = now.Add(-a.cfg.RetentionQuestions)
	}
	p.ProjectionsBefore = now.Add(-projectionRetention)
	return p
}

const (
	// maxClockJump is how far the clock may be ahead of the newest event when the hub starts, or
	// advance more than the hub has run.
	maxClockJump = day
	// clockTrial is how long the hub runs before it trusts a clock that jumped.
	clockTrial = time.Hour
)

// retentionClock decides whether retention may believe the wall clock. A clock that is 40 days ahead
// makes every event too old.
type retentionClock struct {
	expected time.Time // wall time at the last check, at first that of the newest event; zero: unknown
	checked  time.Time // monotonic time of the last check; zero: there was none
	doubted  time.Time // monotonic time since which the clock is in doubt; zero: it is not
	trusts   bool      // whatever the clock says
}

// openRetentionClock must run before the hub stores an event at a time that may be wrong.
func (a *App) openRetentionClock(ctx context.Context) (retentionClock, error) {
	c := retentionClock{trusts: a.cfg.TrustClock}
	newest, err := a.store.Recent(ctx, 1)
	if err == nil && len(newest) > 0 {
		c.expected = newest[0].ReceivedAt
	}
	return c, err
}

// check compares the wall clock with the time that has passed; running is monotonic. A new doubt
// comes with the size of the jump.
func (c *retentionClock) check(wall, running time.Time) (trusted bool, jump time.Duration) {
	wall = wall.Round(0) // without its monotonic part
	if c.trusts {
		return true, 0
	}
	if !c.expected.IsZero() {
		jump = wall.Sub(c.expected)
	}
	if !c.checked.IsZero() {
		jump -= running.Sub(c.checked)
	}
	c.expected, c.checked = wall, running
	if jump > maxClockJump {
		c.doubted = running
		return false, jump
	}
	return c.doubted.IsZero() || running.Sub(c.doubted) >= clockTrial, 0
}
