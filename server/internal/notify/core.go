package notify

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/notify/buttons"
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

	// Reach returns the base of links, and whether they work only on the hub's machine, which it then
	// names; nil: Base, which is checked by no one.
	Reach interface {
		Links() (base, machine string, isLocal bool)
	}
	Base     string
	Accounts Accounts // nil: none
	// Viewers are the people who have the dashboard open; nil: unknown.
	Viewers interface{ IsViewing(person string) bool }
	// Needs counts the requests that need a person; nil: unknown.
	Needs interface {
		NeedsYou(ctx context.Context, me auth.Identity) (int64, error)
	}
	// Reports makes the daily reports; nil: none.
	Reports interface {
		Report(ctx context.Context, since string, check bool) (history.Report, error)
	}
	// Guard decides which addresses channels may connect to; nil: public ones only.
	Guard *netguard.Guard
	// PushAnywhere lets Web Push use Guard, too. By default it connects to public addresses only,
	// because any person may subscribe an address.
	PushAnywhere bool

	Clock func() time.Time // default time.Now
	Log   *slog.Logger     // default: discard

	timing timing
	apis   map[string]string // base URLs of services, by kind of channel, for tests
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

// core is what the parts of a Notifier share. It knows neither channels nor workers.
type core struct {
	Config
	client     *http.Client // connects through Guard
	publicOnly *http.Client // connects to public addresses
	codes      *chat.Codes  // with which people link chat accounts

	outcomes map[string]*atomic.Int64 // by state, and retried attempts

	linkMu sync.Mutex // serializes uses of signed links
	keyMu  sync.Mutex // serializes creation of the Web Push keys
}

// newCore completes cfg.
func newCore(cfg Config) *core {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Accounts == nil {
		cfg.Accounts = (*auth.Service)(nil)
	}
	if cfg.Guard == nil {
		cfg.Guard = new(netguard.Guard)
	}
	if cfg.Reach == nil {
		cfg.Reach = fixedAddress(strings.TrimSuffix(cfg.Base, "/"))
	}
	cfg.timing.setDefaults()
	k := &core{
		Config: cfg, codes: &chat.Codes{Flows: flows.Flows{Store: cfg.Store, Clock: cfg.Clock}},
		client: cfg.Guard.HTTPClient(), publicOnly: new(netguard.Guard).HTTPClient(), outcomes: map[string]*atomic.Int64{},
	}
	for _, outcome := range []string{schema.NotificationSent, schema.NotificationSuppressed, schema.NotificationFailed, outcomeRetry} {
		k.outcomes[outcome] = new(atomic.Int64)
	}
	return k
}

// outcomeRetry counts failed attempts that are repeated.
const outcomeRetry = "retry"

// Outcomes returns the counters of notifications since New, by their final state: the ones of
// schema.Notification.State but queued. "retry" counts failed attempts that are repeated.
func (k *core) Outcomes() map[string]*atomic.Int64 { return k.outcomes }

// identityOf returns the identity of a person that a signed link names.
func (k *core) identityOf(name string) (auth.Identity, bool) {
	return k.Accounts.IdentityOf(name, "link")
}

// createdAt returns when an account was created; zero: there is none.
func (k *core) createdAt(name string) time.Time {
	at, _ := k.Accounts.CreatedAt(name)
	return at
}

func (k *core) emailOf(ctx context.Context, person string) string {
	for _, p := range k.Accounts.Accounts(ctx) {
		if p.Name == person {
			return p.Email
		}
	}
	return ""
}

func (k *core) readQuestion(ctx context.Context, id schema.EventID) (*buttons.Question, error) {
	stored, err := k.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	return buttons.Read(stored)
}

// fixedAddress is an address that does not change.
type fixedAddress string

func (a fixedAddress) Links() (base, machine string, isLocal bool) {
	u, err := url.Parse(string(a))
	return string(a), "the hub's machine", err != nil || isLoopback(u.Hostname())
}

// linkTo returns a link to a path of the dashboard, and the machine's name if it works only there.
func (k *core) linkTo(path string) (link, onlyOn string) {
	base, machine, isLocal := k.Reach.Links()
	if isLocal {
		onlyOn = machine
	}
	return base + path, onlyOn
}

// isLoopback reports whether host is reachable from this machine only.
func isLoopback(host string) bool {
	return host == "" || socket.IsLoopback(host) || strings.HasSuffix(strings.ToLower(host), ".localhost")
}
