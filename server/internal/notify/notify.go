// Package notify notifies people about questions while they are not looking at the
// dashboard: by chat, mail, webhook and Web Push.
//
// A Notifier reads the log from its own cursor, so that no event, answer or delivery waits
// for it. While no channel and no browser is configured, it reads and writes nothing. It
// first stores notifications as rows, which the database keeps unique per question, channel,
// person, kind and number (an outbox). One worker per channel then sends them, with retries
// and a circuit breaker. Delivery is at least once: a message that was in flight when the
// hub was killed is sent again, with the same id if the channel supports ids.
//
// Text from agents is untrusted. A message links to the dashboard and carries no decision, except by
// a signed link (signed_link.go), which is only sent by mail to one named person, and by the buttons of
// chat services and of Web Push, which decide only requests that their message shows completely.
package notify

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// Notifier plans and sends notifications. Its methods are safe for concurrent use.
type Notifier struct {
	*core
	statuses *statusBatcher

	mu      sync.Mutex
	runCtx  context.Context          // nil before Run
	hub     Hub                      // of Run
	workers map[int64]*channelWorker // channel id → worker; 0: Web Push
	group   sync.WaitGroup
	plan    planState
}

// New returns a Notifier. It sends nothing before Run.
func New(cfg Config) *Notifier {
	k := newCore(cfg)
	return &Notifier{core: k, statuses: newStatusBatcher(k), workers: map[int64]*channelWorker{}}
}

// Run plans and sends notifications until ctx ends. It stores their status and the answers from chats
// in h. When it returns, all its goroutines have ended except library calls that ignore their context.
// It may be called again. One hub of a database runs it.
func (n *Notifier) Run(ctx context.Context, h Hub) error {
	ctx, stop := context.WithCancel(ctx)
	defer n.reset()
	defer n.group.Wait()
	defer stop()
	if err := n.start(ctx, h); err != nil {
		return ignoreCanceled(ctx, err)
	}
	n.group.Go(func() { n.statuses.run(ctx, h) })
	n.group.Go(func() { n.runReports(ctx) })
	reload := false            // changes of channels may have been missed
	var retry <-chan time.Time // set by a failure, until it fires
	err := n.Feed.Follow(ctx, feed.NewQuestion|feed.Changed|feed.Accounts|feed.Channels|feed.NewAlert, func(b *feed.Batch) error {
		n.handleNotes(ctx, b)
		reload = reload || b.Rescan
		if retry != nil && !b.Fired {
			b.Timer = retry
			return nil
		}
		retry = nil
		var err error
		if reload {
			err = n.followChannels(ctx)
			reload = err != nil
		}
		if b.Has(feed.Accounts) { // a later restart must not plan earlier questions for new people
			err = errors.Join(err, n.saveCursor(ctx))
		}
		more, stepErr := n.step(ctx)
		if err = errors.Join(err, stepErr); err != nil && ctx.Err() == nil {
			n.Log.Error("notification planning failed", "retry_in", time.Second, "err", err)
			retry = time.After(time.Second)
			b.Timer = retry
		} else if more {
			b.Timer = time.After(0)
		}
		return nil
	})
	return ignoreCanceled(ctx, errors.Join(err, n.saveCursor(context.WithoutCancel(ctx))))
}

// reset drops the state of Run: another hub may run until the next call.
func (n *Notifier) reset() {
	n.mu.Lock()
	n.runCtx, n.workers = nil, map[int64]*channelWorker{}
	n.mu.Unlock()
	n.plan.Lock()
	defer n.plan.Unlock()
	n.plan.hasRecipients, n.plan.known = false, false
}

// handleNotes announces alerts and stops the workers of channels that a lock of the hub removed.
func (n *Notifier) handleNotes(ctx context.Context, b *feed.Batch) {
	for _, fact := range b.Facts {
		switch note := fact.Note.(type) {
		case store.AnonymousRemoval:
			n.forgetChannels(note)
		case control.Alert:
			n.group.Go(func() { n.announceAlert(ctx, note) })
		}
	}
}

// start releases the leases of the previous run and starts the workers.
func (n *Notifier) start(ctx context.Context, h Hub) error {
	questions, err := n.Store.ReleaseNotificationLeases(ctx)
	if err != nil {
		return err
	}
	for _, id := range questions {
		n.statuses.markChanged(id) // the previous run may have stopped before it updated the question
	}
	n.mu.Lock()
	n.runCtx, n.hub = ctx, h // before the channels are read: a channel that is added later is started by AddChannel
	n.mu.Unlock()
	return n.followChannels(ctx)
}

// followChannels stops the workers of channels that are no longer stored, and starts those of the others.
func (n *Notifier) followChannels(ctx context.Context) error {
	n.mu.Lock()
	running := slices.Collect(maps.Keys(n.workers)) // before the channels are read: a worker starts after its channel was stored
	n.mu.Unlock()
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		return err
	}
	channels = append(channels, pushChannel)
	for _, id := range running {
		if !slices.ContainsFunc(channels, func(c store.Channel) bool { return c.ID == id }) {
			n.stopWorker(id)
		}
	}
	for i := range channels {
		n.startWorker(&channels[i])
	}
	n.plan.Lock() // a recipient that is added at the same time is either read here or sets hasRecipients later
	defer n.plan.Unlock()
	return n.findRecipients(ctx)
}

// Reload follows the channels that other hubs added and removed. See reload.Reloader.
func (n *Notifier) Reload(ctx context.Context) error {
	n.mu.Lock()
	runs := n.runCtx != nil && n.runCtx.Err() == nil
	n.mu.Unlock()
	if !runs { // Run reads them when it starts
		return nil
	}
	defer n.Feed.PublishFact(feed.Fact{Kinds: feed.Channels})
	return n.followChannels(ctx)
}

// ignoreCanceled returns nil if err was caused by the end of ctx.
func ignoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
