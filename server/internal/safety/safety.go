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

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// batchRows is the number of log rows per step.
	batchRows = 512
	// startRows is how far back a new follower reads: failures before a restart of the hub count.
	startRows = 4096
	// maxSessions limits the sessions with failures in memory.
	maxSessions = 10_000
	// retryDelay is the delay after a step that failed.
	retryDelay = 5 * time.Second
)

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
	Feed   *feed.Feed
	Hub    Hub
	Limits *Limits
	Log    *slog.Logger // default: discard
}

// Follower applies the limit of equal failures to the log: of the same tool, arguments and error.
type Follower struct {
	Config
	at      int64   // last row read
	limits  *limits // that the streaks are counted for
	begun   int64   // head of the log when Run began: earlier failures count, but another hub has acted on them
	streaks map[streakKey]streak
}

// streakKey is one agent of a session: subagents run at the same time.
type streakKey struct{ app, session, agent string }

// streak are equal failures in a row.
type streak struct {
	tool, err, useID string
	input            uint64
	count            int
}

// New returns a follower that starts at the end of the log.
func New(cfg Config) *Follower {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Follower{Config: cfg}
}

// Run applies the limit until ctx ends, and always returns nil. It may be called again.
func (f *Follower) Run(ctx context.Context) error {
	f.limits, f.begun = nil, f.Store.Head()
	_ = f.Feed.Follow(ctx, feed.Entry, func(*feed.Batch) error { // ends with ctx
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = f.Step(ctx); err != nil && ctx.Err() == nil {
				f.Log.Error("automatic freeze failed", "retry_in", retryDelay, "err", err)
				feed.Sleep(ctx, retryDelay)
				more = true
			}
		}
		return nil
	})
	return nil
}

// Step applies the limit to the next rows. It reports whether there are more.
func (f *Follower) Step(ctx context.Context) (more bool, err error) {
	if current := f.Limits.current.Load(); current != f.limits {
		f.limits, f.streaks = current, map[streakKey]streak{}
		f.at = max(f.Store.Pruned(), f.since()-startRows, 0)
	}
	if f.limits.EqualFailures == 0 {
		return false, nil
	}
	rows, err := f.Store.After(ctx, f.at, batchRows)
	if errors.Is(err, store.ErrPruned) {
		f.at = f.Store.Head()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if f.at = row.Seq; row.Change || row.Event == nil {
			continue
		}
		if err := f.apply(ctx, row.Event); err != nil {
			return false, err
		}
	}
	return len(rows) > 0, nil
}

// since returns the row up to which failures freeze nothing.
func (f *Follower) since() int64 { return max(f.limits.since, f.begun) }

// apply applies the rule to a new event.
func (f *Follower) apply(ctx context.Context, e *store.Event) error {
	switch digest.KindOf(e.Type) {
	case digest.SessionEnd:
		for key := range f.streaks {
			if key.app == e.App && key.session == e.Session {
				delete(f.streaks, key)
			}
		}
	case digest.ToolStart:
		if len(f.streaks) == 0 {
			return nil
		}
		facts := e.Facts(nil)
		key := streakKey{facts.App, facts.Session, facts.Agent}
		if s, ok := f.streaks[key]; ok { // the next end is another one, also if the model uses its ids again
			s.useID = ""
			f.streaks[key] = s
		}
	case digest.ToolEnd:
		facts := e.Facts(nil)
		if n := f.count(facts); n >= f.limits.EqualFailures {
			return f.freeze(ctx, facts)
		}
	}
	return nil
}

// count adds the end of a tool call, and returns the number of equal failures in a row.
func (f *Follower) count(facts *digest.EventFacts) int {
	key := streakKey{facts.App, facts.Session, facts.Agent}
	s := f.streaks[key]
	switch {
	case facts.UseID != "" && facts.UseID == s.useID: // reported twice
		return 0
	case !facts.Failed || facts.InputHash == 0: // without arguments it may be another call
		delete(f.streaks, key)
		return 0
	}
	if s.tool != facts.Tool || s.input != facts.InputHash || s.err != facts.Error {
		s = streak{tool: facts.Tool, err: facts.Error, input: facts.InputHash}
	}
	s.useID = facts.UseID
	s.count++
	if len(f.streaks) >= maxSessions {
		clear(f.streaks)
	}
	f.streaks[key] = s
	return s.count
}

// freeze freezes the session, and starts to count again. A failure is retried at the next equal
// failure.
func (f *Follower) freeze(ctx context.Context, facts *digest.EventFacts) error {
	if int64(facts.ID) > f.since() && f.Store.FreezeOf(facts.App, facts.Session) == nil {
		err := f.Hub.FreezeSession(ctx, control.Freeze{
			SourceApp: facts.App, SessionID: facts.Session, Rule: control.RuleFailures,
			Reason: fmt.Sprintf("%s failed %d times in a row with the same arguments and error.", facts.Tool, f.limits.EqualFailures),
		})
		if err != nil {
			return err
		}
	}
	delete(f.streaks, streakKey{facts.App, facts.Session, facts.Agent})
	return nil
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
