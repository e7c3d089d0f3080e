package postgres

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
)

// policyWatch makes the hub read accounts, rules and settings again after another hub has changed them.
type policyWatch struct {
	log    *slog.Logger
	wakeup feed.Wakeup

	mu      sync.Mutex // guards the fields below
	reload  func(context.Context) error
	version int64         // newest one of another hub
	loaded  int64         // version up to which the hub has read
	changed chan struct{} // closed and replaced after each reload
}

func newPolicyWatch(log *slog.Logger) *policyWatch {
	return &policyWatch{log: log, wakeup: feed.NewWakeup(), changed: make(chan struct{})}
}

// changedTo records a change by another hub.
func (p *policyWatch) changedTo(version int64) {
	p.mu.Lock()
	p.version = max(p.version, version)
	p.mu.Unlock()
	p.wakeup.Wake()
}

// isStale reports whether the hub has not read a change yet, and returns a channel that is closed after
// the next reload.
func (p *policyWatch) isStale() (bool, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reload != nil && p.loaded < p.version, p.changed
}

// maxReload is how long a refused decision waits for the reload, so that the next attempt succeeds.
const maxReload = time.Second

// await waits until the hub has read all changes, or the time is over.
func (p *policyWatch) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxReload)
	defer cancel()
	for {
		stale, changed := p.isStale()
		if !stale {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// reloadRetry is the time between two attempts.
const reloadRetry = 100 * time.Millisecond

// run reloads until ctx ends.
func (p *policyWatch) run(ctx context.Context) {
	for p.wakeup.Wait(ctx, time.Hour) {
		for !p.reloadOnce(ctx) {
			if !feed.Sleep(ctx, reloadRetry) {
				return
			}
		}
	}
}

// reloadOnce reports whether the hub has read all changes.
func (p *policyWatch) reloadOnce(ctx context.Context) bool {
	p.mu.Lock()
	reload, version := p.reload, p.version
	isDone := p.loaded >= version
	p.mu.Unlock()
	if isDone || reload == nil {
		return true
	}
	if err := reload(ctx); err != nil {
		if ctx.Err() == nil {
			p.log.Error("changes of accounts, rules and settings by another hub not read; decisions are refused until they are", "retry_in", reloadRetry, "err", err)
		}
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded = max(p.loaded, version)
	close(p.changed)
	p.changed = make(chan struct{})
	return p.loaded >= p.version
}
