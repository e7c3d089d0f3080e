package agentclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/agentclient/project"
	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
)

// DefaultHub is the address of a hub that runs with its default settings.
const DefaultHub = "http://127.0.0.1:4000"

// Errors of the client itself. Package schema has the errors of a hub;
// errors.Is matches both kinds.
var (
	// ErrUnreachable reports that no hub accepted the message, so no person has seen it.
	ErrUnreachable = errors.New("no hub can be reached")
	// ErrMalformed reports that an answer arrived that does not fit the question.
	ErrMalformed = errors.New("the answer does not fit the question")
	// ErrTimedOut reports that no one answered a Request with FailRun in time.
	ErrTimedOut = errors.New("no one answered in time, and this question fails the run without an answer")
	// ErrClosed reports that the client was closed before or during the call.
	ErrClosed = errors.New("client is closed")
)

// Options configures a Client. The zero value of each field selects its default.
type Options struct {
	// Hubs lists addresses of the same hub, such as http://127.0.0.1:4000 or
	// unix:///run/hookback/4000.sock. The client tries them in order, starting with the
	// one that answered last. It reaches a loopback address through the hub's Unix
	// socket if there is one (package socket). Default: HOOKBACK_URL (comma separated), else
	// DefaultHub.
	Hubs []string
	// SourceApp and SessionID fill the same fields of every event that leaves them
	// empty. SourceApp defaults to the name of the working directory, SessionID to
	// HOOKBACK_SESSION, else to a random id per client.
	SourceApp, SessionID string
	// Token authenticates this agent to a hub that requires it ("hubin_…"). If Hubs is
	// set too, the token is sent to these addresses. Otherwise, and by default for
	// HOOKBACK_TOKEN, it is sent only to an address that has a pin (see Trust), to the
	// origin in the token itself (TOKEN@https://hub.example), or anywhere as long as no
	// hub is pinned. No other server receives it.
	Token string
	// HubKeys are the public keys of the hubs that may answer, in base64. They replace
	// the account's known hubs.
	HubKeys []string
	// KnownHubs replaces the file with the account's known hubs, for tests and unusual
	// setups. Default: ~/.config/hookback/known_hubs, where the home directory is that
	// of the account database, whatever HOME is.
	KnownHubs string
	// RememberHubs writes the key of the first hub, and keys that follow a trusted one, to
	// the file of known hubs, as the hookback commands do. Without it they last as long
	// as the client: a library does not change its user's account.
	RememberHubs bool
	// Unsigned accepts answers without a signature although a hub is pinned, for a
	// version 1 server beside it. The client then pins nothing.
	Unsigned bool
	// OnFirstContact, if set, is called when the client has pinned the first hub, see
	// RememberHubs. It must not block.
	OnFirstContact func(Pin)
	// Env returns the variables HOOKBACK_URL, HOOKBACK_TOKEN and HOOKBACK_SESSION.
	// Default: os.Getenv.
	Env func(string) string
	// OnUnreachable selects the decision when no hub accepts a question. Default: Deny for
	// permissions, and Fail for the other kinds.
	OnUnreachable Fallback
	// UnreachableAfter is how long every address must refuse connections before the
	// hub counts as unreachable. Default: 2 s, enough for a hub to restart.
	UnreachableAfter time.Duration
}

// Client asks people questions and sends events through a hub. The zero value is
// ready to use with default Options. A Client is safe for concurrent use and must
// not be copied.
//
// While a question is pending, and for 3 s after it, the client listens on one
// loopback port.
type Client struct {
	opts Options

	setupOnce sync.Once // guards the fields that setup fills, from pacing to cancel
	timings   timings
	hubs      []string
	// hubsFromEnv is set if HOOKBACK_URL chose the addresses. An address from the
	// environment pins nothing.
	hubsFromEnv bool
	credential  credential
	setupErr    error
	http        *http.Client
	ctx         context.Context // canceled by Close
	cancel      context.CancelFunc

	lastWorking atomic.Int64 // index in hubs of the address that answered last
	trustOnce   sync.Once
	trust       *Trust
	trustErr    error
	contacted   sync.Map // addresses of hubs without a key, as in earlier versions
	listener    listener

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // calls in progress; Add is not called once closed is set
}

// timings holds the client's timeouts and delays. Tests shorten them.
type timings struct {
	postTimeout     time.Duration // limit of one POST
	grace           time.Duration // how much later than the question's own timeout an answer may arrive
	pullDelay       time.Duration // time that a healthy hub has to push the answer before the client pulls
	pollTimeout     time.Duration // how long the hub holds a long poll open
	withdrawTimeout time.Duration // limit of withdrawing a question
	readTimeout     time.Duration // limit of one connection to the listener
	linger          time.Duration // how long repeats of an answer are still acknowledged
}

var defaultTimings = timings{
	postTimeout:     5 * time.Second,
	grace:           5 * time.Second,
	pullDelay:       2 * time.Second,
	pollTimeout:     25 * time.Second,
	withdrawTimeout: 300 * time.Millisecond,
	readTimeout:     10 * time.Second,
	linger:          3 * time.Second,
}

// New returns a client. It neither connects nor listens. The first call that needs
// the hub reports an invalid address.
func New(o Options) *Client { return &Client{opts: o} }

// Close shuts the client down. Pending questions are withdrawn and return ErrClosed,
// acknowledgments in progress get up to a second, then the listener stops. Close
// always returns nil and may be called more than once.
//
// A program that exits right after it got an answer should close its client first.
// Otherwise the hub may never receive the acknowledgment.
func (c *Client) Close() error {
	c.setup()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.calls.Wait()
	c.listener.stop()
	c.http.CloseIdleConnections()
	return nil
}

// beginCall registers a call that Close waits for; endCall unregisters it.
func (c *Client) beginCall() (endCall func(), err error) {
	c.setup()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if c.setupErr != nil {
		return nil, c.setupErr
	}
	c.calls.Add(1)
	return c.calls.Done, nil
}

// setup resolves the options on the first call.
func (c *Client) setup() {
	c.setupOnce.Do(func() {
		if c.timings == (timings{}) {
			c.timings = defaultTimings
		}
		c.ctx, c.cancel = context.WithCancel(context.Background())
		c.listener.readTimeout, c.listener.linger = c.timings.readTimeout, c.timings.linger
		c.http = transport.NewClient()
		address := strings.TrimSpace(c.opts.getenv("HOOKBACK_URL"))
		c.hubsFromEnv = len(c.opts.Hubs) == 0 && address != ""
		c.hubs, c.setupErr = parseHubs(c.opts.Hubs, address)
		if c.setupErr == nil {
			c.credential, c.setupErr = c.opts.credential()
		}
		c.opts.SourceApp = cmp.Or(c.opts.SourceApp, workingDirName())
		c.opts.SessionID = cmp.Or(c.opts.SessionID, c.opts.getenv("HOOKBACK_SESSION"), "session-"+transport.RandomToken(6))
		c.opts.UnreachableAfter = cmp.Or(c.opts.UnreachableAfter, 2*time.Second)
	})
}

// withClose returns a context that ends with ctx or with Close, in the latter case
// with the cause ErrClosed.
func (c *Client) withClose(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// ParseHubs parses a comma-separated list of hub addresses, the format of HOOKBACK_URL.
// Addresses without a scheme get http://. An empty list returns DefaultHub.
func ParseHubs(list string) ([]string, error) { return parseHubs(nil, list) }

// parseHubs returns the hub addresses as scheme://host[/path] without a trailing slash, or
// unix:///path. It takes addresses, else the comma-separated env, else DefaultHub.
func parseHubs(addresses []string, env string) ([]string, error) {
	if len(addresses) == 0 {
		addresses = strings.Split(cmp.Or(strings.TrimSpace(env), DefaultHub), ",")
	}
	hubs := make([]string, 0, len(addresses))
	for _, address := range addresses {
		address = strings.TrimSpace(address)
		if address == "" {
			continue
		}
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		u, err := url.Parse(address)
		if err == nil && u.Scheme == socket.Scheme && u.Host == "" && filepath.IsAbs(u.Path) {
			hubs = append(hubs, address)
			continue
		}
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%w: %q is not a hub address; use an address such as %s", schema.ErrInvalid, address, DefaultHub)
		}
		hubs = append(hubs, strings.TrimRight(address, "/"))
	}
	if len(hubs) == 0 {
		return nil, fmt.Errorf("%w: the list of hub addresses is empty; add one, such as %s", schema.ErrInvalid, DefaultHub)
	}
	return hubs, nil
}

func workingDirName() string {
	dir, err := os.Getwd()
	if err != nil {
		return "agent"
	}
	return cmp.Or(project.Name(schema.MaxName, project.Main(dir)), "agent")
}

// Send stores one event in the hub and returns it with the id that the hub assigned.
// It fills fields that e leaves empty: source_app, session_id, timestamp, an empty
// payload and an idempotency key. Send retries until ctx ends or UnreachableAfter has
// passed; thanks to the key a retry stores no duplicate.
//
// The error is one of package schema if the hub rejected the event, else
// ErrUnreachable.
//
// If e has a HumanInTheLoop, the question is posted but Send does not wait for the
// answer. Use Ask for that.
func (c *Client) Send(ctx context.Context, e schema.Event) (*schema.Event, error) {
	endCall, err := c.beginCall()
	if err != nil {
		return nil, fmt.Errorf("send event: %w", err)
	}
	defer endCall()
	ctx, cancel := c.withClose(ctx)
	defer cancel()
	c.fillDefaults(&e)
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("send event: %w", err)
	}
	retryCtx, stopRetry := context.WithTimeout(ctx, c.opts.UnreachableAfter)
	defer stopRetry()
	var receipt eventReceipt
	body, err := json.Marshal(&e)
	if err == nil {
		receipt, err = c.postEvent(retryCtx, ctx, eventBody{json: body, asks: e.HumanInTheLoop != nil})
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, fmt.Errorf("send event: %w", err)
	}
	receipt.applyTo(&e)
	return &e, nil
}

// fillDefaults sets the fields that e leaves empty.
func (c *Client) fillDefaults(e *schema.Event) {
	now := time.Now()
	e.SourceApp = cmp.Or(e.SourceApp, c.opts.SourceApp)
	e.SessionID = cmp.Or(e.SessionID, c.opts.SessionID)
	e.Timestamp = cmp.Or(e.Timestamp, schema.Millis(now.UnixMilli()))
	e.IdempotencyKey = cmp.Or(e.IdempotencyKey, transport.NewKey(now))
	if len(e.Payload) == 0 {
		e.Payload = []byte("{}")
	}
}

// Withdraw cancels a question that Send posted: the hub closes its request, and the
// agent gets no answer. asked is the event that Send returned. If the question has
// already ended, the error is schema.ErrDecided or schema.ErrExpired.
//
// To withdraw a question of Ask, cancel its ctx instead.
func (c *Client) Withdraw(ctx context.Context, asked *schema.Event, reason string) error {
	endCall, err := c.beginCall()
	if err != nil {
		return fmt.Errorf("withdraw question: %w", err)
	}
	defer endCall()
	ctx, cancel := c.withClose(ctx)
	defer cancel()
	for _, hub := range c.hubsInOrder() {
		receipt := eventReceipt{hub: hub, ID: asked.ID, RequestSecret: asked.RequestSecret}
		if err = c.withdraw(ctx, receipt, reason); !errors.Is(err, transport.ErrNotListening) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("withdraw question: %w", callerError(err))
	}
	return nil
}
