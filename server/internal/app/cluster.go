package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/httpapi/stream"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/store"
)

// This file is about the other hubs of a PostgreSQL database. With SQLite this hub is the only one, and it leads.

// cluster is this hub among them.
type cluster struct {
	store    store.Members
	feed     *feed.Feed
	viewers  *hub.Viewers
	presence *stream.Presence
}

// whileLeading runs a worker whenever this hub leads, until ctx ends or the worker does by itself.
func (c *cluster) whileLeading(ctx context.Context, run func(context.Context) error) error {
	for {
		leading, err := c.store.Lead(ctx)
		if err != nil {
			return nil //nolint:nilerr // stopping is no error
		}
		if err := run(leading); leading.Err() == nil {
			return err
		}
	}
}

// reportLeadership notifies the workers of this hub that it leads.
func (c *cluster) reportLeadership(ctx context.Context) error {
	c.feed.PublishFact(feed.Fact{Kinds: feed.Members})
	<-ctx.Done()
	return nil
}

// announceDelay is the shortest time between two announcements to the other hubs.
const announceDelay = 100 * time.Millisecond

// run reports to the other hubs which people view which requests, and follows their reports, until ctx ends.
func (c *cluster) run(ctx context.Context) error {
	changed := feed.NewWakeup()
	wake := func() { changed.Wake() }
	c.store.ObserveMembers(wake)
	c.viewers.Observe(wake)
	c.presence.Observe(wake)
	var known []string
	for {
		c.store.Announce(store.MemberFacts{Watching: c.viewers.Own(), Presence: c.presence.Share()})
		var ids []string
		var watching int
		var presence []json.RawMessage
		for _, m := range c.store.Members() {
			if ids = append(ids, m.ID); m.ID != c.store.Self() {
				watching += m.Watching
				presence = append(presence, m.Presence)
			}
		}
		c.viewers.SetOthers(watching)
		c.presence.SetOthers(presence)
		if !slices.Equal(known, ids) {
			known = ids
			c.feed.PublishFact(feed.Fact{Kinds: feed.Members})
		}
		if !changed.Wait(ctx, time.Hour) || !feed.Sleep(ctx, announceDelay) {
			return nil
		}
	}
}

// reloader has state of the store in memory.
type reloader interface {
	// Reload reads the state again and applies changes as changes of this hub. After an
	// error it can be called again.
	Reload(ctx context.Context) error
}

// reloaders update the state that the hub keeps in memory above the store after another hub has
// changed it. They are listed by name.
type reloaders map[string]reloader

// reload runs all reloaders at the same time, also if one of them fails. The caller repeats it after
// an error.
func (l reloaders) reload(ctx context.Context) error {
	var mu sync.Mutex
	var errs []error
	var group sync.WaitGroup
	for name, r := range l {
		group.Go(func() {
			if err := r.Reload(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("reload %s: %w", name, err))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
