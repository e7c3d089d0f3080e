// Package notify tells people of questions while they are not looking: by chat, by
// mail, by webhook and by Web Push.
//
// It follows the log from a cursor of its own, so that no event, no answer and no
// delivery waits for it. What is to be said becomes rows first, one for each question,
// channel, person, kind and number, which the database keeps unique; a lane for each
// channel sends them. A message goes out at least once: one that was under way when the
// hub was killed is sent again, with the same id where the channel knows ids.
//
// What agents wrote is hostile text, and a message is a link to look at, never a
// decision. The one exception is a signed link (link.go), which only mail to one named
// person carries.
package notify

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

// Config is what a Notifier is made of. Store and Show are required.
type Config struct {
	Store *store.Store
	// SetNotifications puts notices on the card of a question.
	SetNotifications func(context.Context, schema.EventID, []schema.Notification, *schema.NotificationCounts) error

	// Base is where people reach the hub, for links.
	Base string
	// People are those the hub knows; nil: nobody.
	People func(context.Context) ([]schema.Person, error)
	// ResolveRecipients names the people that recipients stand for; nil: nobody.
	ResolveRecipients func(*schema.Recipients) ([]string, error)
	// IdentityOf is who a person is, by a signed link; nil: nobody.
	IdentityOf func(name string) (auth.Identity, bool)
	// CreatedAt is when a person was made known to the hub; nil: always.
	CreatedAt func(name string) time.Time
	// Watching reports whether a page of that person is being looked at; nil: not known.
	Watching func(person string) bool
	// PushAnywhere permits push services on this machine and in private networks.
	PushAnywhere bool

	Clock func() time.Time // default time.Now
	Log   *slog.Logger     // default: discard

	timing      timing
	telegramURL string // where Telegram's interface is, for tests
}

// timing is how fast things are tried.
type timing struct {
	timeout           time.Duration   // of one message
	retries           []time.Duration // after the first failure, the second, …; then it has failed
	breakerThreshold  int             // failures in a row after which a channel is left alone
	breakerPause      time.Duration   // for so long, doubled each time
	maxBreakerPause   time.Duration   // but no longer
	maxAge            time.Duration   // after it was made, a message has failed
	statusInterval    time.Duration   // between two changes of a card, doubled each time
	maxStatusInterval time.Duration   // but no longer
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

// Notifier tells people. Its methods may be called by many goroutines.
type Notifier struct {
	Config
	loopback    bool // Base is this machine only
	logAppended chan struct{}
	statuses    *statusBatcher

	mu      sync.Mutex
	runCtx  context.Context          // nil before Run
	workers map[int64]*channelWorker // :: channel → what sends by it; 0: Web Push
	group   sync.WaitGroup

	linkMu sync.Mutex // held while a signed link is used
	keyMu  sync.Mutex // held while the keys of Web Push are made
}

// New makes a notifier. Nothing is sent before Run.
func New(cfg Config) *Notifier {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.People == nil {
		cfg.People = func(context.Context) ([]schema.Person, error) { return nil, nil }
	}
	if cfg.ResolveRecipients == nil {
		cfg.ResolveRecipients = func(*schema.Recipients) ([]string, error) { return nil, nil }
	}
	if cfg.IdentityOf == nil {
		cfg.IdentityOf = func(string) (auth.Identity, bool) { return auth.Identity{}, false }
	}
	if cfg.CreatedAt == nil {
		cfg.CreatedAt = func(string) time.Time { return time.Time{} }
	}
	if cfg.Watching == nil {
		cfg.Watching = func(string) bool { return false }
	}
	if cfg.telegramURL == "" {
		cfg.telegramURL = "https://api.telegram.org"
	}
	cfg.Base = strings.TrimSuffix(cfg.Base, "/")
	cfg.timing.setDefaults()
	n := &Notifier{Config: cfg, logAppended: make(chan struct{}, 1), workers: map[int64]*channelWorker{}}
	if u, err := url.Parse(cfg.Base); err != nil || isLoopback(u.Hostname()) {
		n.loopback = true
	}
	n.statuses = newStatusBatcher(n)
	return n
}

// LogAppended is told that a question was asked or changed. It never blocks.
func (n *Notifier) LogAppended() {
	select {
	case n.logAppended <- struct{}{}:
	default:
	}
}

// Run follows the log and sends until ctx ends. It returns once nothing of it runs
// any more but what a library does not let go of.
func (n *Notifier) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer n.group.Wait()
	defer stop()
	if err := n.start(ctx); err != nil {
		return ignoreCanceled(ctx, err)
	}
	n.group.Go(func() { n.statuses.run(ctx) })
	cursor := int64(-1)
	for ctx.Err() == nil {
		more, err := n.step(ctx, &cursor)
		wait := time.Duration(0)
		if err != nil && ctx.Err() == nil {
			n.Log.Error("telling people of questions; trying again in a second", "err", err)
			wait, cursor = time.Second, -1
		}
		if more && err == nil {
			continue
		}
		if !n.wait(ctx, wait) {
			return nil
		}
	}
	return nil
}

// wait waits for news, or for the given time where there is one.
func (n *Notifier) wait(ctx context.Context, wait time.Duration) bool {
	if wait > 0 {
		return sleep(ctx, wait, nil)
	}
	select {
	case <-n.logAppended:
		return true
	case <-ctx.Done():
		return false
	}
}

// start takes up what was left when the hub stopped.
func (n *Notifier) start(ctx context.Context) error {
	questions, err := n.Store.ReleaseNotificationLeases(ctx)
	if err != nil {
		return err
	}
	for _, id := range questions {
		n.statuses.markChanged(id) // the hub may have stopped before the card said so
	}
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.runCtx = ctx
	n.mu.Unlock()
	n.worker(0)
	for _, c := range channels {
		n.worker(c.ID)
	}
	return nil
}

// ignoreCanceled is nil for an error that only says that ctx has ended.
func ignoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// sleep waits for d, for word, or for the end of ctx; false: that.
func sleep(ctx context.Context, d time.Duration, wakeup <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wakeup:
	case <-ctx.Done():
		return false
	}
	return true
}
