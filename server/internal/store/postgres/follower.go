package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

const (
	// pollEvery is the longest time between two pulses; pollDeaf, while the bus is down.
	pollEvery = 250 * time.Millisecond
	pollDeaf  = 100 * time.Millisecond
	// pollRetry is the time until the next look after one that failed.
	pollRetry = 50 * time.Millisecond
	// maxPulseAge is the age of the last pulse at which the state of the hub is too old to decide by;
	// maxAloneAge, if no other hub was alive at that pulse.
	maxPulseAge = time.Second
	maxAloneAge = store.MemberTimeout
)

// follower reads the commits of other hubs. A ring of the bus starts a poll at once; without rings it polls
// several times a second.
type follower struct {
	store  *engine
	bus    bus.Bus     // nil: none
	wakeup feed.Wakeup // publishes the rows that the writer has caught up with

	mu        sync.Mutex // guards the fields below
	pulsed    time.Time  // begin of the last successful pulse
	until     time.Time  // end of isCurrent
	isCurrent bool
	overdue   *time.Timer // ends isCurrent
	changed   func(isCurrent bool)

	reporting sync.Mutex // held while changed is called, so that the last call is about the last change
}

func (f *follower) run(ctx context.Context) {
	var failed bool
	for f.wait(ctx) {
		err := f.look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			f.store.log.Error("other hubs not followed", "err", err)
		}
		failed = err != nil
	}
}

// every is the longest time between two pulses.
func (f *follower) every() time.Duration {
	if f.bus != nil && !f.bus.Up() {
		return pollDeaf
	}
	return pollEvery
}

// wait blocks until it is time for a look. It returns false if ctx ended.
func (f *follower) wait(ctx context.Context) bool {
	var rings <-chan int64
	if f.bus != nil {
		rings = f.bus.Rings()
	}
	timer := time.NewTimer(max(f.every()-f.pulseAge(), pollRetry))
	defer timer.Stop()
	for {
		select {
		case commits := <-rings:
			if commits <= f.store.commits.Load() {
				continue // known, and possibly its own ring
			}
		case <-timer.C:
		case <-f.wakeup:
			if f.pulseAge() < f.every() {
				// A hub that writes a lot has caught up by itself, and needs no pulse for each commit.
				if err := f.store.publisher.foreign(); err == nil {
					continue
				}
			}
		case <-ctx.Done():
			return false
		}
		return true
	}
}

const queryPulse = `SELECT commits, ` + databaseMicros + `, (SELECT cursor FROM cursors WHERE name = 'projections'), min_schema,
	coalesce((SELECT max(block) FROM search_blocks), -1) FROM streams`

// look catches up with the other hubs and publishes their rows.
func (f *follower) look(ctx context.Context) error {
	s := f.store
	isDue := f.pulseAge() >= f.every()
	ctx, cancel := context.WithTimeout(ctx, maxPulseAge)
	defer cancel()
	began := time.Now()
	var commits, now, projected, needed, block int64
	if err := s.readers.get(ctx, []any{&commits, &now, &projected, &needed, &block}, queryPulse); err != nil {
		return err
	}
	if needed > newestSchema() {
		s.health.Set(&tables.Fault{Kind: tables.Fatal, Detail: incompatible(needed).Error()})
		return s.health.Refusal()
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
	s.State.Projected.Reach(projected)
	if !isDue {
		return nil // a ring is not about the members
	}
	s.State.Indexed.Reach(tables.LastRowOfBlock(block))
	if err := s.members.look(ctx); err != nil {
		return err
	}
	f.extend(began)
	return nil
}

// pulseAge returns the time since the last successful pulse.
func (f *follower) pulseAge() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.pulsed) // long, if there was none
}

// extend makes the state current until it is too old for a pulse that began at a time.
func (f *follower) extend(began time.Time) {
	age := maxPulseAge
	if len(f.store.members.list()) == 1 {
		age = maxAloneAge
	}
	f.mu.Lock()
	f.pulsed, f.until = began, began.Add(age)
	f.overdue.Reset(time.Until(f.until))
	f.mu.Unlock()
	f.setCurrent(true)
}

// expire ends the currency, unless a pulse has just moved its end.
func (f *follower) expire() {
	f.mu.Lock()
	isOver := !time.Now().Before(f.until)
	f.mu.Unlock()
	if isOver {
		f.setCurrent(false)
	}
}

func (f *follower) setCurrent(isCurrent bool) {
	f.reporting.Lock()
	defer f.reporting.Unlock()
	f.mu.Lock()
	changed := f.changed
	isSame := f.isCurrent == isCurrent
	f.isCurrent = isCurrent
	f.mu.Unlock()
	if isSame {
		return
	}
	if !isCurrent {
		f.store.log.Error("the database has not answered; this hub decides nothing until it does")
	}
	if changed != nil {
		changed(isCurrent)
	}
}

func (s *engine) isCurrent() bool {
	s.follower.mu.Lock()
	defer s.follower.mu.Unlock()
	return s.follower.isCurrent
}

func (s *engine) ObserveCurrent(changed func(isCurrent bool)) {
	s.follower.mu.Lock()
	defer s.follower.mu.Unlock()
	s.follower.changed = changed
}

// ring sends the number of the last commit to the other hubs, if there are any.
func (f *follower) ring(commits int64) {
	if f.bus != nil && len(f.store.members.list()) > 1 {
		f.bus.Ring(commits)
	}
}
