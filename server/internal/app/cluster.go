package app

import (
	"context"

	"github.com/hookback/hookback/server/internal/feed"
)

// This file is about the other hubs of a PostgreSQL database. With SQLite this hub is the only one, and it leads.

// startLeading starts the workers that do what one hub does for all. Each of them reads its position in
// the log when its run begins, and commits together with it, so two leaders for a moment do nothing twice.
func (a *App) startLeading(ctx context.Context, start func(name string, run func() error)) {
	workers := map[string]func(context.Context) error{
		"projections": a.sessions.Run, "ratings": a.ratings.Run, "alerts": a.alerts.Run, "automatic freeze": a.safety.Run,
		"notifications": a.notifier.Run, "search index": a.store.RunIndexer, "retention": a.runRetention, "audit log heads": a.runLedgerHeads,
		"leadership": a.runLeadership,
	}
	if a.traces != nil {
		workers["traces"] = a.traces.Run
	}
	for name, run := range workers {
		start(name, func() error { return a.whileLeading(ctx, run) })
	}
}

// whileLeading runs a worker whenever this hub leads, until ctx ends or the worker does by itself.
func (a *App) whileLeading(ctx context.Context, run func(context.Context) error) error {
	for {
		leading, err := a.store.Lead(ctx)
		if err != nil {
			return nil //nolint:nilerr // stopping is no error
		}
		if err := run(leading); leading.Err() == nil {
			return err
		}
	}
}

// runLeadership tells the workers of every hub that this one leads.
func (a *App) runLeadership(ctx context.Context) error {
	a.feed.PublishFact(feed.Fact{Kinds: feed.Members})
	<-ctx.Done()
	return nil
}
