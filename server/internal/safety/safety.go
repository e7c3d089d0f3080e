// Package safety freezes sessions whose agent fails in a loop or spends too much. Its rules read the
// log, or its projections, after the commit of an event. So they delay no event, and
// act one call late: the next call may have begun.
package safety

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// retryDelay is the delay after a step that failed.
const retryDelay = 5 * time.Second

// Hub freezes sessions.
type Hub interface {
	// FreezeSession freezes a session on behalf of the hub, for the reason and the rule of f.
	FreezeSession(ctx context.Context, f control.Freeze) error
}

// Config holds the dependencies of a Follower. All are required except Log.
type Config struct {
	Store interface {
		store.Log
		store.Freezes
	}
	Live   *live.Tracker
	Feed   *feed.Feed
	Hub    Hub
	Limits *Limits
	Log    *slog.Logger // default: discard
}

// Follower applies the limit of equal failures to the log: of the same tool, arguments and error.
type Follower struct {
	Config
	found []*digest.EventFacts // failures at the limit; written and taken within Do of the tracker
	due   []*digest.EventFacts // those that Step has taken
}

// New returns a follower that does not run yet.
func New(cfg Config) *Follower {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Follower{Config: cfg}
}

// Run applies the limit until ctx ends, and always returns nil. It may be called again. Failures before it count, but
// another hub has acted on them.
func (f *Follower) Run(ctx context.Context) error {
	f.found, f.due = nil, nil
	f.Live.OnFailure(f.count)
	defer f.Live.OnFailure(nil)
	_ = f.Feed.Follow(ctx, feed.Entry, func(*feed.Batch) error { // ends with ctx
		for err := f.Step(ctx); err != nil && ctx.Err() == nil; err = f.Step(ctx) {
			f.Log.Error("automatic freeze failed", "retry_in", retryDelay, "err", err)
			feed.Sleep(ctx, retryDelay)
		}
		return nil
	})
	return nil
}

// Step applies the limit to the log up to its end. What fails is tried again in the next step, unless there are too
// many freezes: the next one is due after as many more failures.
func (f *Follower) Step(ctx context.Context) error {
	if f.Limits.Active().EqualFailures == 0 {
		return nil
	}
	err := f.Live.Do(ctx, func() error {
		f.due, f.found = append(f.due, f.found...), nil
		return nil
	})
	for ; err == nil && len(f.due) > 0; f.due = f.due[1:] {
		facts := f.due[0]
		if err := f.freeze(ctx, facts); errors.Is(err, schema.ErrTooMany) {
			f.Log.Error("session not frozen", "app", facts.App, "session", facts.Session, "err", err)
		} else if err != nil {
			return err
		}
	}
	return err
}

// count finds failures at the limit. It counts on after a freeze, which a person may lift: the next one is due after
// as many more.
func (f *Follower) count(facts *digest.EventFacts, equal int) {
	l := f.Limits.current.Load()
	if l.EqualFailures > 0 && equal%l.EqualFailures == 0 && int64(facts.ID) > l.since {
		f.found = append(f.found, facts)
	}
}

// freeze freezes the session, unless it is frozen, or the limit has changed since the failure.
func (f *Follower) freeze(ctx context.Context, facts *digest.EventFacts) error {
	l := f.Limits.current.Load()
	if int64(facts.ID) <= l.since || f.Store.FreezeOf(facts.App, facts.Session) != nil {
		return nil
	}
	return f.Hub.FreezeSession(ctx, control.Freeze{
		SourceApp: facts.App, SessionID: facts.Session, Rule: control.RuleFailures,
		Reason: fmt.Sprintf("%s failed %d times in a row with the same arguments and error.", facts.Tool, l.EqualFailures),
	})
}

// recentFreezes is the number of automatic freezes that Read returns.
const recentFreezes = 20

// Limits are the limits at which the hub freezes a session. Its methods are safe for concurrent use.
type Limits struct {
	*store.Settings[control.SafetySettings]
	store   store.Freezes
	flag    int // of -freeze-after; 0: none
	current atomic.Pointer[limits]
}

// limits are the limits as applied since a row of the log. Earlier failures count, but freeze
// nothing: a person may have lifted that freeze.
type limits struct {
	control.SafetySettings
	since int64
}

// OpenLimits reads the stored limits. flag overrules the stored number of equal failures unless it
// is 0.
func OpenLimits(ctx context.Context, s store.Store, flag int) (*Limits, error) {
	l := &Limits{store: s, flag: flag}
	var err error
	l.Settings, err = store.OpenSettings(ctx, s, store.SafetyLimits,
		func(settings control.SafetySettings) { // unchanged limits keep their beginning
			if flag > 0 {
				settings.EqualFailures = flag
			}
			l.current.Store(&limits{settings, s.Head()})
		})
	return l, err
}

// Active returns the limits as applied.
func (l *Limits) Active() control.SafetySettings { return l.current.Load().SafetySettings }

// Read returns the limits and the last automatic freezes.
func (l *Limits) Read(ctx context.Context) (control.Safety, error) {
	s := control.Safety{Settings: l.Settings.Read(), Active: l.Active()}
	if l.flag > 0 {
		s.Flag = fmt.Sprint("-freeze-after ", l.flag)
	}
	list, err := l.store.AutomaticFreezes(ctx, store.AutomaticFreezeFilter{Limit: recentFreezes})
	s.Freezes = append([]control.Freeze{}, list...)
	return s, err
}
