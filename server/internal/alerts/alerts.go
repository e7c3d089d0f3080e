// Package alerts watches running agents by rules that people set: agents that report nothing, that fail
// often, that repeat themselves, or that spend much. It follows the log, so it delays no event, and it
// informs only: package safety is what stops agents. A finding is stored once, and closes by itself.
package alerts

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// maxAlerts limits the open alerts in memory.
	maxAlerts = 10_000
	// pace is the shortest time between two steps, so that many events cost little.
	pace = time.Second
	// interval is the time between two checks of what time alone changes, and of spending.
	interval = 30 * time.Second
	// retryDelay is the delay after a step that failed.
	retryDelay = 5 * time.Second
	// maxAnnounced limits the alerts per minute that people are notified of: a network that fails, or an
	// agent with many sessions, can open thousands at once.
	maxAnnounced = 20
	// recentAlerts is the number of closed alerts that Read returns.
	recentAlerts = 50
)

// Config holds the dependencies of a Follower. All are required except Clock and Log.
type Config struct {
	Store interface {
		store.Projections
		store.Alerts
	}
	Live  *live.Tracker
	Feed  *feed.Feed
	Rules *Rules
	Clock func() time.Time // default time.Now
	Log   *slog.Logger     // default: discard
}

// Follower applies the rules to the log.
type Follower struct {
	Config
	open map[scope]control.Alert // nil until loaded

	spending map[scope]control.Alert // of the rules of kind spend, at the last check
	spentAt  time.Time               // of the last check; zero: check now

	announced      int // alerts in the minute that began at announcedSince
	announcedSince schema.Millis
}

// New returns a Follower. It does nothing before Run.
func New(cfg Config) *Follower {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Follower{Config: cfg}
}

// Read returns the open alerts and the newest closed ones.
func (f *Follower) Read(ctx context.Context) (control.AlertList, error) {
	open, err := f.Store.Alerts(ctx, true, maxAlerts)
	closed, errClosed := f.Store.Alerts(ctx, false, recentAlerts)
	return control.AlertList{Open: append([]control.Alert{}, open...), Closed: append([]control.Alert{}, closed...)}, errors.Join(err, errClosed)
}

// Run applies the rules until ctx ends, and always returns nil. Without rules it rests. It may be called again.
func (f *Follower) Run(ctx context.Context) error {
	f.open, f.spending, f.spentAt = nil, nil, time.Time{}                          // another hub may have applied them since
	var last time.Time                                                             // of the last step
	_ = f.Feed.Follow(ctx, feed.Entry|feed.AlertRules, func(b *feed.Batch) error { // ends with ctx
		if rest := pace - time.Since(last); rest > 0 && !b.Has(feed.AlertRules) {
			b.Timer = time.After(rest)
			return nil
		}
		if b.Has(feed.AlertRules) {
			f.spentAt = time.Time{}
		}
		wait := interval
		err := f.Step(ctx)
		if last = time.Now(); err != nil && ctx.Err() == nil {
			f.Log.Error("alert rules not applied", "retry_in", retryDelay, "err", err)
			wait = retryDelay
		}
		if len(f.Rules.List()) > 0 || len(f.open) > 0 {
			b.Timer = time.After(wait)
		}
		return nil
	})
	return nil
}

// Step reads the log up to its end and applies the rules.
func (f *Follower) Step(ctx context.Context) error {
	if err := f.loadOpen(ctx); err != nil {
		return err
	}
	now := f.Clock()
	found := map[scope]control.Alert{}
	rules := f.Rules.List()
	if len(rules) == 0 {
		return f.update(ctx, found, schema.Millis(now.UnixMilli()))
	}
	if err := f.checkSpending(ctx, rules, now); err != nil {
		return err
	}
	maps.Copy(found, f.spending)
	err := f.Live.Do(ctx, func() error {
		requests := f.Live.Requests()
		for i := range rules {
			f.evaluate(&rules[i], requests, now, found)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.update(ctx, found, schema.Millis(now.UnixMilli()))
}

// loadOpen reads the alerts that an earlier run of the hub left open, once.
func (f *Follower) loadOpen(ctx context.Context) error {
	if f.open != nil {
		return nil
	}
	alerts, err := f.Store.Alerts(ctx, true, maxAlerts)
	if err != nil {
		return err
	}
	f.open = map[scope]control.Alert{}
	for i := range alerts {
		f.open[scopeOf(&alerts[i])] = alerts[i]
	}
	return nil
}

// update stores what changed since the last step: it opens the alerts that were found, and closes the
// others.
func (f *Follower) update(ctx context.Context, found map[scope]control.Alert, now schema.Millis) error {
	changed := false
	for key, a := range f.open {
		if _, holds := found[key]; holds {
			continue
		}
		if err := f.Store.CloseAlert(ctx, a.ID, now); err != nil {
			return err
		}
		delete(f.open, key)
		changed = true
	}
	for key, a := range found {
		if _, isOpen := f.open[key]; isOpen {
			continue
		}
		a.OpenedAt = now
		stored, opened, err := f.Store.OpenAlert(ctx, a)
		if err != nil {
			return err
		}
		if opened {
			f.open[key] = stored
			changed = true
			f.announce(stored)
		}
	}
	if changed {
		f.Feed.PublishFact(feed.Fact{Kinds: feed.Alerts, Note: f.openAlerts()})
	}
	return nil
}

// announce publishes a new alert, for notifications. The last one of a minute mentions that there are more.
func (f *Follower) announce(a control.Alert) {
	if since := a.OpenedAt - f.announcedSince; since < 0 || since >= schema.Millis(time.Minute.Milliseconds()) {
		f.announced, f.announcedSince = 0, a.OpenedAt
	}
	switch f.announced++; {
	case f.announced > maxAnnounced:
		return
	case f.announced == maxAnnounced:
		f.Log.Warn("more alerts than are announced in a minute", "limit", maxAnnounced)
		a.Evidence += " More alerts are in the inbox."
	}
	f.Feed.PublishFact(feed.Fact{Kinds: feed.NewAlert, Note: a})
}

// openAlerts returns the open alerts, the newest first; never nil.
func (f *Follower) openAlerts() []control.Alert {
	list := slices.AppendSeq(make([]control.Alert, 0, len(f.open)), maps.Values(f.open))
	slices.SortFunc(list, func(a, b control.Alert) int { return cmp.Compare(b.ID, a.ID) })
	return list
}

// checkSpending replaces the alerts of the rules of kind spend, at most once per interval.
func (f *Follower) checkSpending(ctx context.Context, rules []control.AlertRule, now time.Time) error {
	if since := now.Sub(f.spentAt); since >= 0 && since < interval {
		return nil
	}
	spending := map[scope]control.Alert{}
	for i := range rules {
		if rules[i].Kind != control.AlertSpend {
			continue
		}
		if err := evaluateSpend(ctx, f.Store, &rules[i], now, spending); err != nil {
			return err
		}
	}
	f.spending, f.spentAt = spending, now
	return nil
}
