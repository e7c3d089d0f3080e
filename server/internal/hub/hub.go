// Package hub implements the operations of the product: store an event, answer a
// question, cancel it, pull its answer. It contains no HTTP and no SQL.
//
// A question is a state machine with one terminal transition, and every change of it
// uses optimistic concurrency. Package question computes the change from a snapshot of the row,
// and store.Apply commits it only if the row's version is still the same (compare-and-swap).
// The first commit wins. Every other writer reads the row again and decides on its current
// state.
package hub

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// New returns a hub over cfg.Store and publishes the store's commits to cfg.Feed.
func New(cfg Config) *Hub {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.PendingLimits.setDefaults()
	cfg.ReconnectGrace = cmp.Or(cfg.ReconnectGrace, DefaultReconnectGrace)
	h := &Hub{
		Config: cfg,
		env: question.Environment{
			HubID: cfg.Store.HubID(), Key: cfg.Store.Identity(), Accounts: accounts{cfg.People},
			NudgeAfter: cfg.NudgeAfter, Freezes: cfg.Store, Defaults: cfg.Defaults,
		},
		startSeq:        cfg.Store.Head(),
		requests:        openRequests{open: map[schema.EventID]int{}, timers: map[schema.EventID]*time.Timer{}},
		clockChecked:    cfg.Clock(),
		elapsed:         elapsed,
		subscribers:     map[schema.EventID]map[feed.Wakeup]bool{},
		unsentResponses: map[schema.EventID]chan struct{}{},
		calls:           map[schema.EventID]question.PendingCall{},
		unstored:        map[string]bool{},
		askBacks:        map[sessionCall]schema.EventID{},
		sessionApps:     map[sentSession]string{},
		messageWaiters:  map[store.SessionKey]*messageWaiter{},
		stopBlocks:      map[store.SessionKey]int{},
	}
	h.countPending()
	h.initRules(context.Background())
	h.loadAskBacks(context.Background())
	cfg.People.ObserveLock(h)
	cfg.Store.SetPublish(h.publish)
	h.repeatFreezes()
	return h
}

// countPending counts the pending questions. The rows of some of them may still follow; each uid counts once.
func (h *Hub) countPending() {
	pending, err := h.Store.Pending(context.Background())
	if err != nil {
		h.Log.Error("pending questions not read; they don't count for the limits", "err", err)
	}
	for _, e := range pending {
		h.pending.add(e.UID, store.SessionKey{App: e.App, Session: e.Session})
	}
}

// publish encodes committed rows once and adds them to the feed, the fan-out to all
// streams. It runs on the store's writer goroutine before the posters get their
// results, so the feed has the order of the commits.
func (h *Hub) publish(rows []store.LogRow) {
	h.notifyRows(rows)
	if slices.ContainsFunc(rows, func(row store.LogRow) bool { return row.Foreign }) {
		h.reportFollowed()
	}
	h.Feed.Publish(query.EncodeFrames(rows)...)
}

// AfterLock drops the answers of callers without credentials that are in their undo window, and
// reloads the rules, of which the lock has revoked some.
func (h *Hub) AfterLock(ctx context.Context) {
	if err := h.loadRules(ctx); err != nil {
		h.Log.Error("rule reload after the lock failed; no rule is active", "err", err)
	}
	h.dropInvalidAnswers(ctx)
}
