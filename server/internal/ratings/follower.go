// Package ratings rates every tool call of the log in the background: how risky it is, who decided
// about it and how it ended. Its follower has its own cursor, so it delays neither events nor the
// other projections, and it also rates the events from before an upgrade.
package ratings

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// batchRows is the number of log rows per step: few, so that its transaction is short.
	batchRows = 512
	// pace is how much longer than a step the pause after it is while the log grows.
	pace = 2
	// stepInterval is the minimum time between two steps that have caught up.
	stepInterval = time.Second
	// maxJoin is how long a step waits for the commit of an event that it can join.
	maxJoin = 2 * time.Second
	// retryDelay is the delay after a step that failed.
	retryDelay = 5 * time.Second
	// maxUnsavedRows limits the rows without effect that are read again after a restart.
	maxUnsavedRows = 4096
)

// Config holds the dependencies of a Follower. All are required except Log.
type Config struct {
	Store interface {
		store.Log
		store.Ratings
		store.History
	}
	Feed *feed.Feed
	Log  *slog.Logger // default: discard
}

// Follower rates the calls of the log.
type Follower struct {
	Config
	cursor int64 // as stored; negative until it is read
	at     int64 // last row read; the rows after cursor had no effect
	open   *openCalls
	rows   int  // per step
	joins  bool // steps wait for a commit to join
}

// New returns a follower.
func New(cfg Config) *Follower {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Follower{Config: cfg, cursor: -1, rows: batchRows}
}

// Run rates calls until ctx ends, and always returns nil. It may be called again.
func (f *Follower) Run(ctx context.Context) error {
	f.joins = true
	f.cursor = -1 // another hub may have rated since an earlier run
	var lastErr string
	_ = f.Feed.Follow(ctx, feed.Entry, func(*feed.Batch) error { // ends with ctx
		for more := true; more && ctx.Err() == nil; {
			began, head := time.Now(), f.Store.Head()
			var err error
			if more, err = f.Step(ctx); err != nil && ctx.Err() == nil {
				if err.Error() != lastErr {
					f.Log.Error("rating of tool calls failed", "retry_in", retryDelay, "err", err)
				}
				lastErr, more = err.Error(), true
				feed.Sleep(ctx, retryDelay)
				continue
			}
			lastErr = ""
			f.pause(ctx, time.Since(began), more, head)
		}
		return nil
	})
	return nil
}

// pause leaves the processor to others after a step.
func (f *Follower) pause(ctx context.Context, worked time.Duration, more bool, head int64) {
	switch {
	case !more:
		feed.Sleep(ctx, stepInterval)
	case f.Store.Head() != head: // events arrive
		feed.Sleep(ctx, pace*worked)
	}
}

// Step rates the calls of the next rows. It reports whether there are more.
func (f *Follower) Step(ctx context.Context) (more bool, err error) {
	if f.cursor < 0 {
		if err := f.load(ctx); err != nil {
			return false, err
		}
	}
	entries, upTo, err := f.Store.LogEntries(ctx, store.RatingReader, f.at, f.rows)
	if err != nil || upTo == f.at {
		return false, err
	}
	overruled, err := f.Store.OverruledCalls(ctx, f.at, upTo)
	if err != nil {
		return false, err
	}
	b := batch{open: f.open, overruled: overruled, counts: map[store.CallKey]store.CallCount{}, before: map[*store.RatedCall]store.RatedCall{}}
	for i := range entries {
		b.apply(&entries[i])
	}
	if len(b.changed) > 0 || upTo-f.cursor >= maxUnsavedRows {
		err = f.commit(ctx, &b, upTo)
	}
	if err != nil {
		f.cursor = -1 // read it again
		return false, err
	}
	f.at = upTo
	return upTo < f.Store.Head(), nil
}

// load reads the position and the open calls.
func (f *Follower) load(ctx context.Context) error {
	calls, err := f.Store.OpenCalls(ctx)
	if err != nil {
		return err
	}
	cursor, err := f.Store.RatingCursor(ctx)
	if err != nil {
		return err
	}
	f.cursor, f.at, f.open = cursor, cursor, newOpenCalls(calls)
	return nil
}

func (f *Follower) commit(ctx context.Context, b *batch, upTo int64) error {
	d := &store.RatingBatch{From: f.cursor, To: upTo, Counts: b.counts}
	var listed []history.RiskyCall
	for _, c := range b.changed {
		if _, wasStored := b.before[c]; !c.Closed || c.IsListed() || wasStored {
			d.Calls = append(d.Calls, *c)
		}
		if c.IsListed() {
			listed = append(listed, c.RiskyCall)
		}
	}
	if f.joins && upTo == f.Store.Head() {
		now := make(chan struct{})
		defer time.AfterFunc(maxJoin, func() { close(now) }).Stop()
		d.JoinUntil = now
	}
	if err := f.Store.ApplyRatings(ctx, d); err != nil {
		return err
	}
	f.cursor = upTo
	if upTo+batchRows >= f.Store.Head() { // pages have no use for news about the past
		for _, c := range listed {
			f.Feed.PublishFact(feed.Fact{Kinds: feed.Ratings, ID: int64(c.ID), Note: c})
		}
	}
	return nil
}
