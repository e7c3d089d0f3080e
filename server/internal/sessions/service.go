// Package sessions derives sessions, statistics and reports from the log. A projector follows the
// log and keeps aggregates in the store; the queries read them. Package digest below it computes
// the aggregates, and package otlp turns OpenTelemetry into events.
package sessions

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// Config holds the dependencies of a Service. All are required except Spending, Clock and Log.
type Config struct {
	Store interface {
		store.Log
		store.History
		store.Projections
		store.Ratings
	}
	Feed       *feed.Feed
	Executions ExecutionRecorder
	Spending   SpendingObserver // nil: none
	Clock      func() time.Time // default: time.Now
	Log        *slog.Logger     // default: discard
}

// ExecutionRecorder records in a question's status how its call ended, as the agent's events
// show it at that time (Unix ms). Repeating it changes nothing.
type ExecutionRecorder interface {
	RecordExecution(ctx context.Context, id schema.EventID, execution schema.Execution, at int64) error
}

// SpendingObserver learns of sessions whose cost rose, after the projection with the new cost was
// stored. It must not change or retain the session, and the projections wait for it.
type SpendingObserver interface {
	SessionSpent(ctx context.Context, key store.SessionKey, session *digest.Session)
}

// Service answers queries about sessions and maintains their projections. Its methods are safe
// for concurrent use.
type Service struct {
	Config
	searches  *searchSemaphore                           // limits Search, and Sessions with a text filter
	overviews query.Cache[overviewKey, history.Overview] // with only the counts of decisions
	decided   atomic.Int64                               // counts projections of decisions
	progress  *progress
}

// New returns a service. Its projections are up to date while Run runs.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	s := &Service{Config: cfg, searches: newSearchSemaphore(), progress: &progress{
		wake: feed.NewWakeup(), urgent: make(chan struct{}), advanced: make(chan struct{}),
	}}
	s.overviews.Keep, s.overviews.Max = maxOverviewAge, maxCachedOverviews
	return s
}
