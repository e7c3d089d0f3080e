package tables

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// State is what an engine keeps in memory. It is that of the last commit.
type State struct {
	Head    atomic.Int64 // last sequence number of the log
	Pruned  atomic.Int64 // highest sequence number that retention removed
	Events  atomic.Int64 // number of stored events
	Decided atomic.Int64 // number of decided questions
	Pending PendingQuestions
	Tail    logTail
	Texts   sessionTexts

	Projected   lagMeter     // of the projector
	Indexed     lagMeter     // of the indexer, in full blocks
	IndexerWake feed.Wakeup  // wakes the indexer when it has work
	Pruning     atomic.Int32 // runs of Prune in progress

	// PruneBudget is how long the writer may be busy with one batch of Prune, because other writes wait for it.
	PruneBudget time.Duration
	Log         *slog.Logger
}

// NewState returns the state of a store that is not open yet.
func NewState(log *slog.Logger, pruneBudget time.Duration) *State {
	return &State{Log: log, PruneBudget: pruneBudget, Texts: sessionTexts{Limit: maxSessionTexts}, IndexerWake: feed.NewWakeup()}
}

// Start loads the state of a database that has these counters.
func (t *Tables) Start(ctx context.Context, query Query, now time.Time, c *Counters) error {
	if err := t.LoadPending(ctx, query); err != nil {
		return err
	}
	t.Show(c)
	t.State.Projected.Grow(c.Head, time.Now())
	t.State.Indexed.Grow(lastFullBlock(c.Head), time.Now())
	return t.Load(query, now)
}

// Statistics returns the values that do not depend on the engine, without those that take a query.
func (t *Tables) Statistics(h *Health) store.Stats {
	now := time.Now()
	return store.Stats{
		Pending: t.State.Pending.Len(), Events: t.State.Events.Load(), Queued: t.Queue.Len(), RefusedFault: h.refused.Load(), Fault: h.Detail(),
		Projections: t.State.Projected.Lag(now), SearchIndex: t.State.Indexed.Lag(now),
	}
}

// CountUndelivered returns the number of answers that may not have reached their agents.
func (t *Tables) CountUndelivered(ctx context.Context) (int64, error) {
	return read[int64](ctx, t, `SELECT count(*) FROM deliveries WHERE undelivered`)
}
