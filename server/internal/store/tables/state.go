package tables

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
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
