package postgres

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/feed"
)

const (
	// pollEvery is the longest time between two pulses; pollDeaf, while the bus is down.
	pollEvery = 250 * time.Millisecond
	pollDeaf  = 100 * time.Millisecond
	// maxPulseAge is the age of the last pulse at which the hub no longer knows what the others do.
	maxPulseAge = time.Second
)

// follower learns what other hubs commit. A ring of the bus makes it look at once; without any it looks
// several times a second.
type follower struct {
	store  *engine
	log    *slog.Logger
	bus    bus.Bus // nil: none
	wakeup feed.Wakeup
	pulse  atomic.Int64 // monotonic time of the last successful pulse
}

// wake makes the follower look now.
func (f *follower) wake() { f.wakeup.Wake() }

func (f *follower) run(ctx context.Context) {
	var failed bool
	for f.wait(ctx) {
		err := f.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			f.log.Error("other hubs not followed", "err", err)
		}
		failed = err != nil
	}
}

// wait blocks until it is time for a look. It returns false if ctx ended.
func (f *follower) wait(ctx context.Context) bool {
	every, rings := pollEvery, (<-chan int64)(nil)
	if f.bus != nil {
		rings = f.bus.Rings()
		if !f.bus.Up() {
			every = pollDeaf
		}
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case commits := <-rings:
			if commits <= f.store.commits.Load() {
				continue // known, and possibly its own ring
			}
		case <-timer.C:
		case <-f.wakeup:
		case <-ctx.Done():
			return false
		}
		return true
	}
}

const queryPulse = `SELECT commits, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT cursor FROM cursors WHERE name = 'projections'), min_schema FROM streams`

// look catches up with the other hubs and publishes their rows.
func (f *follower) look(ctx context.Context) error {
	s := f.store
	ctx, cancel := context.WithTimeout(ctx, maxPulseAge)
	defer cancel()
	began := time.Now()
	var commits, now, projected, needed int64
	if err := s.readers.get(ctx, []any{&commits, &now, &projected, &needed}, queryPulse); err != nil {
		return err
	}
	if needed > newestSchema() {
		s.health.setFatal(incompatible(needed).Error())
		return s.health.refusal()
	}
	s.database.set(began, now)
	if commits > s.commits.Load() {
		if err := s.writer.refreshTo(ctx, commits); err != nil {
			return err
		}
	}
	if err := s.publisher.foreign(); err != nil {
		return err
	}
	s.projected.Reach(projected)
	if err := s.members.look(ctx); err != nil {
		return err
	}
	f.pulse.Store(int64(began.Sub(processStart)))
	return nil
}

// processStart is the reference of monotonic times.
var processStart = time.Now()

// isCurrent reports whether the last pulse is young.
func (f *follower) isCurrent() bool {
	return time.Since(processStart)-time.Duration(f.pulse.Load()) < maxPulseAge
}

// ring tells the other hubs, if there are any, the number of the last commit.
func (f *follower) ring(commits int64) {
	if f.bus != nil && len(f.store.members.list()) > 1 {
		f.bus.Ring(commits)
	}
}
