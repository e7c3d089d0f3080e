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
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/store"
)

// Hub is the part of the hub that Run calls. *hub.Hub implements it.
type Hub interface {
	chat.Hub
	// SetNotifications writes the status of notifications to a question.
	SetNotifications(ctx context.Context, id schema.EventID, list []schema.Notification, counts *schema.NotificationCounts) error
	// ResolveRecipients returns the names of the people that recipients address.
	ResolveRecipients(to *schema.Recipients) ([]string, error)
}

// Accounts are the accounts of the hub. *auth.Service implements it.
type Accounts interface {
	chat.Accounts
	Accounts(ctx context.Context) []schema.Person
	CheckSignedIn(cookie, person string) error
}

// Viewers are the people who have the dashboard open.
type Viewers interface {
	IsViewing(person string) bool
}

// Config configures a Notifier. Store and Feed are required by Run.
type Config struct {
	Store interface {
		store.Log
		store.Questions
		store.Notifications
		store.Ledger
		store.Chats
		store.Flows
	}
	Feed *feed.Feed

	// Reach is the hub's address for links; nil: Base, which is checked by no one.
	Reach    Reach
	Base     string
	Accounts Accounts // nil: none
	Viewers  Viewers  // nil: unknown
	// Needs counts the requests that need a person; nil: unknown.
	Needs interface {
		NeedsYou(ctx context.Context, me auth.Identity) (int64, error)
	}
	// Guard decides which addresses channels may connect to; nil: public ones only.
	Guard *netguard.Guard
	// PushAnywhere lets Web Push use Guard, too. By default it connects to public addresses only,
	// because any person may subscribe an address.
	PushAnywhere bool

	Clock func() time.Time // default time.Now
	Log   *slog.Logger     // default: discard

	timing      timing
	telegramURL string // base URL of the Bot API, for tests
	slackURL    string // base URL of Slack's Web API, for tests
}

// timing holds the timeouts, retries and circuit breaker settings.
type timing struct {
	timeout           time.Duration   // of one attempt
	retries           []time.Duration // delay after the first failure, the second, …; then the message has failed
	breakerThreshold  int             // consecutive failures that open the circuit breaker
	breakerPause      time.Duration   // first pause of an open breaker, doubled each time (exponential backoff)
	maxBreakerPause   time.Duration   // upper limit of the pause
	maxAge            time.Duration   // age at which a message is not retried any more
	statusInterval    time.Duration   // between two updates of a question, doubled each time
	maxStatusInterval time.Duration   // upper limit of the interval
}

func (p *timing) setDefaults() {
	if p.timeout == 0 {
		*p = timing{
			timeout:          10 * time.Second,
			retries:          []time.Duration{2 * time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute},
			breakerThreshold: 5, breakerPause: 30 * time.Second, maxBreakerPause: 10 * time.Minute, maxAge: time.Hour,
			statusInterval: 500 * time.Millisecond, maxStatusInterval: 8 * time.Second,
		}
	}
}

// Notifier plans and sends notifications. Its methods are safe for concurrent use.
type Notifier struct {
	Config
	statuses   *statusBatcher
	client     *http.Client // connects through Guard
	publicOnly *http.Client // connects to public addresses

	mu      sync.Mutex
	runCtx  context.Context          // nil before Run
	hub     Hub                      // of Run
	workers map[int64]*channelWorker // channel id → worker; 0: Web Push
	group   sync.WaitGroup
	plan    planState
	codes   *chat.Codes // with which people link chat accounts

	outcomes map[string]*atomic.Int64 // by state, and retried attempts

	linkMu sync.Mutex // serializes uses of signed links
	keyMu  sync.Mutex // serializes creation of the Web Push keys
}

// New returns a Notifier. It sends nothing before Run.
func New(cfg Config) *Notifier {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Accounts == nil {
		cfg.Accounts = (*auth.Service)(nil)
	}
	if cfg.Guard == nil {
		cfg.Guard = new(netguard.Guard)
	}
	cfg.Base = strings.TrimSuffix(cfg.Base, "/")
	cfg.timing.setDefaults()
	n := &Notifier{
		Config: cfg, workers: map[int64]*channelWorker{}, codes: &chat.Codes{Flows: flows.Flows{Store: cfg.Store, Clock: cfg.Clock}},
		client: cfg.Guard.HTTPClient(), publicOnly: new(netguard.Guard).HTTPClient(),
	}
	if cfg.Reach == nil {
		n.Reach = fixedAddress(cfg.Base)
	}
	n.statuses = newStatusBatcher(n)
	n.outcomes = map[string]*atomic.Int64{}
	for _, outcome := range []string{schema.NotificationSent, schema.NotificationSuppressed, schema.NotificationFailed, outcomeRetry} {
		n.outcomes[outcome] = new(atomic.Int64)
	}
	return n
}

// outcomeRetry counts failed attempts that are repeated.
const outcomeRetry = "retry"

// Outcomes returns the counters of notifications since New, by their final state: the ones of
// schema.Notification.State but queued. "retry" counts failed attempts that are repeated.
func (n *Notifier) Outcomes() map[string]*atomic.Int64 { return n.outcomes }

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
	reload := false            // removals of channels may have been missed
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
			err = n.stopRemovedChannels(ctx)
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

// stopRemovedChannels stops the workers whose channels are no longer stored.
func (n *Notifier) stopRemovedChannels(ctx context.Context) error {
	n.mu.Lock()
	running := slices.Collect(maps.Keys(n.workers)) // before the channels are read: a worker starts after its channel was stored
	n.mu.Unlock()
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		return err
	}
	for _, id := range running {
		if id != 0 && !slices.ContainsFunc(channels, func(c store.Channel) bool { return c.ID == id }) {
			n.stopWorker(id)
		}
	}
	return nil
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
	return n.startChannels(ctx)
}

// startChannels starts the workers of the stored channels that do not run.
func (n *Notifier) startChannels(ctx context.Context) error {
	n.plan.Lock() // a recipient that is added at the same time is either read here or sets hasRecipients later
	r, err := n.loadRecipients(ctx)
	n.plan.hasRecipients = n.plan.hasRecipients || err == nil && len(r.channels)+len(r.pushSubscribers) > 0
	n.plan.Unlock()
	if err != nil {
		return err
	}
	n.worker(0)
	for i := range r.channels {
		n.startChannel(&r.channels[i])
	}
	return nil
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
	return errors.Join(n.stopRemovedChannels(ctx), n.startChannels(ctx))
}

// ignoreCanceled returns nil if err was caused by the end of ctx.
func ignoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
