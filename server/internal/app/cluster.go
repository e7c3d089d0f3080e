package app

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
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

// machineID identifies what loopback addresses mean for this hub: the machine since it started, and on
// Linux the network of the process. Two containers have the same kernel and different networks, and cloned
// machines have the same name.
func machineID() string {
	id := []string{machineName()}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		id = append(id, strings.TrimSpace(string(boot)))
	}
	if network, err := os.Readlink("/proc/self/ns/net"); err == nil {
		id = append(id, network)
	}
	return strings.Join(id, " ")
}

// announceDelay is the shortest time between two announcements to the other hubs.
const announceDelay = 100 * time.Millisecond

// runMembers tells the other hubs who looks at what and who handles which request, and follows what they
// tell, until ctx ends.
func (a *App) runMembers(ctx context.Context) error {
	changed, claims := feed.NewWakeup(), a.server.Claims()
	wake := func() { changed.Wake() }
	a.store.ObserveMembers(wake)
	a.hub.Viewers.Observe(wake)
	a.presence.Observe(wake)
	claims.Observe(wake)
	var known []string
	for {
		a.store.Announce(store.MemberFacts{Watching: a.hub.Viewers.Own(), Presence: a.presence.Share(), Claims: claims.Share()})
		var ids []string
		var watching int
		var presence, claimed []json.RawMessage
		for _, m := range a.store.Members() {
			if ids = append(ids, m.ID); m.ID != a.store.Self() {
				watching += m.Watching
				presence, claimed = append(presence, m.Presence), append(claimed, m.Claims)
			}
		}
		a.hub.Viewers.SetOthers(watching)
		a.presence.SetOthers(presence)
		claims.SetOthers(claimed)
		if !slices.Equal(known, ids) {
			known = ids
			a.feed.PublishFact(feed.Fact{Kinds: feed.Members})
		}
		if !changed.Wait(ctx, time.Hour) || !feed.Sleep(ctx, announceDelay) {
			return nil
		}
	}
}
