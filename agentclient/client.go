package agentclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
)

// DefaultHub is where a hub listens unless told otherwise.
const DefaultHub = "http://127.0.0.1:4000"

// The errors of the client itself. Those of the hub are schema's, and errors.Is
// tells them apart across the network.
var (
	// ErrUnreachable: no hub took the message, nobody has seen it.
	ErrUnreachable = errors.New("no hub can be reached")
	// ErrMalformed: an answer came that does not answer the question.
	ErrMalformed = errors.New("the answer makes no sense")
	// ErrTimedOut: nobody answered in time a question that asked for the run to fail
	// then (HumanInTheLoop.OnTimeout is fail_run).
	ErrTimedOut = errors.New("nobody answered in time, and without an answer the run must not go on")
	// ErrClosed: the client was closed, before or while it was asked.
	ErrClosed = errors.New("the client is closed")
)

// Options configure a Client. Every zero value means the default named here.
type Options struct {
	// Hubs are the addresses of the hub, tried in this order, the one that
	// answered last first. Default: HOOKBACK_URL (comma separated), else DefaultHub.
	Hubs []string
	// SourceApp and SessionID name the agent in every event that doesn't name
	// itself. Default: the working directory's folder name; HOOKBACK_SESSION,
	// else a random name of this client's.
	SourceApp, SessionID string
	// Token is what the hub knows this agent by, where it wants that: hubin_… . It goes
	// with every request to one of Hubs and nowhere else. Default: HOOKBACK_TOKEN.
	Token string
	// OnUnreachable says what Ask decides when no hub takes the question.
	// Default: Deny.
	OnUnreachable Fallback
	// UnreachableAfter is how long nobody may listen at any of the addresses
	// before they count as unreachable. Default: 2 s, enough for a hub to restart.
	UnreachableAfter time.Duration
}

// Client asks people and sends events through a hub. The zero value is ready to
// use and means the default Options. Its methods may be called at the same time
// from many goroutines; a Client must not be copied.
//
// While questions wait, and 3 s longer, the client listens on one loopback port.
type Client struct {
	opts Options

	setupOnce sync.Once // guards what setup makes, from here to cancel
	pacing    pacing
	hubs      []string
	setupErr  error
	http      *http.Client
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc

	lastWorking atomic.Int64 // index in hubs of the one that answered last
	listener    listener

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // calls under way; none is added once closed
}

// pacing holds the client's durations; tests shorten them.
type pacing struct {
	postTimeout     time.Duration // one POST
	grace           time.Duration // what an answer may take to get here after the question's timeout
	pullDelay       time.Duration // a healthy hub has pushed a quick answer by then
	pollTimeout     time.Duration // how long the hub holds a pull open
	withdrawTimeout time.Duration // telling the hub that nobody waits any more
	linger          time.Duration // repeats of an answer are acknowledged that much longer
}

var defaultPacing = pacing{
	postTimeout:     5 * time.Second,
	grace:           5 * time.Second,
	pullDelay:       2 * time.Second,
	pollTimeout:     25 * time.Second,
	withdrawTimeout: 300 * time.Millisecond,
	linger:          3 * time.Second,
}

// New makes a client. It neither connects nor listens; an address that makes no
// sense is reported by the first call that would use it.
func New(o Options) *Client { return &Client{opts: o} }

// Close ends the client: questions that still wait are withdrawn and return
// ErrClosed, acknowledgements under way get up to a second, then the listener
// stops. It returns nil, and may be called again.
//
// A program that exits right after its answer should close its client first:
// otherwise the hub may never learn that the answer arrived.
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

// beginCall begins a call that Close waits for; leave ends it.
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

// setup resolves the options, once.
func (c *Client) setup() {
	c.setupOnce.Do(func() {
		if c.pacing == (pacing{}) {
			c.pacing = defaultPacing
		}
		c.ctx, c.cancel = context.WithCancel(context.Background())
		c.listener.linger = c.pacing.linger
		c.http = newHTTPClient()
		c.hubs, c.setupErr = hubAddresses(c.opts.Hubs, os.Getenv("HOOKBACK_URL"))
		c.opts.Token = strings.TrimSpace(cmp.Or(c.opts.Token, os.Getenv("HOOKBACK_TOKEN")))
		if c.setupErr == nil && !isHeaderValue(c.opts.Token) {
			c.setupErr = fmt.Errorf("%w: the token for the hub has signs in it that no token has", schema.ErrInvalid)
		}
		c.opts.SourceApp = cmp.Or(c.opts.SourceApp, workingDirName())
		c.opts.SessionID = cmp.Or(c.opts.SessionID, os.Getenv("HOOKBACK_SESSION"), "session-"+randomToken(6))
		c.opts.UnreachableAfter = cmp.Or(c.opts.UnreachableAfter, 2*time.Second)
	})
}

// isHeaderValue reports whether text may stand in a header.
func isHeaderValue(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// withClose is ctx, ended by Close too.
func (c *Client) withClose(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// newHTTPClient follows no redirects: a hub never sends one, so whoever does is
// something else.
func newHTTPClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment, // never for loopback addresses
			DialContext:         (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     30 * time.Second,
		},
	}
}

// hubAddresses picks the address list and brings every address into the form
// scheme://host[/path], without a slash at the end.
func hubAddresses(addresses []string, env string) ([]string, error) {
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
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%w: %q is no hub address; it must look like %s", schema.ErrInvalid, address, DefaultHub)
		}
		hubs = append(hubs, strings.TrimRight(address, "/"))
	}
	if len(hubs) == 0 {
		return nil, fmt.Errorf("%w: the list of hub addresses is empty; name one, such as %s", schema.ErrInvalid, DefaultHub)
	}
	return hubs, nil
}

// Hubs reads a list of hub addresses as HOOKBACK_URL holds it: separated by commas,
// http:// where a scheme is missing; an empty list is DefaultHub.
func Hubs(list string) ([]string, error) { return hubAddresses(nil, list) }

func workingDirName() string {
	dir, err := os.Getwd()
	if name := filepath.Base(dir); err == nil && name != string(filepath.Separator) {
		return name
	}
	return "agent"
}

// randomToken is n random bytes in URL-safe characters.
func randomToken(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: the runtime ends the program instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// newKey makes an idempotency key: a UUIDv7, so that keys sort by time.
func newKey(now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	ms := now.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Send stores one event and returns it as the hub numbered it. What e leaves out
// is filled in: source_app, session_id, timestamp, an empty payload, an
// idempotency key. It retries until ctx ends or UnreachableAfter has passed; the
// key makes a repeat harmless.
//
// The error is one of schema's when the hub refused the event, else ErrUnreachable.
//
// An event with HumanInTheLoop is posted too, but nobody waits: see Ask.
func (c *Client) Send(ctx context.Context, e schema.Event) (*schema.Event, error) {
	endCall, err := c.beginCall()
	if err != nil {
		return nil, fmt.Errorf("the event was not sent: %w", err)
	}
	defer endCall()
	ctx, cancel := c.withClose(ctx)
	defer cancel()
	c.fillDefaults(&e)
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("the event was not sent: %w", err)
	}
	retryCtx, stopRetry := context.WithTimeout(ctx, c.opts.UnreachableAfter)
	defer stopRetry()
	receipt, err := c.postEvent(retryCtx, ctx, &e)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, fmt.Errorf("the event was not sent: %w", err)
	}
	receipt.applyTo(&e)
	return &e, nil
}

// fillDefaults gives an event what it left out.
func (c *Client) fillDefaults(e *schema.Event) {
	now := time.Now()
	e.SourceApp = cmp.Or(e.SourceApp, c.opts.SourceApp)
	e.SessionID = cmp.Or(e.SessionID, c.opts.SessionID)
	e.Timestamp = cmp.Or(e.Timestamp, schema.Millis(now.UnixMilli()))
	e.IdempotencyKey = cmp.Or(e.IdempotencyKey, newKey(now))
	if len(e.Payload) == 0 {
		e.Payload = []byte("{}")
	}
}

// Withdraw takes back a question that Send posted: its card goes, nothing is
// sent to the agent. asked is what Send returned. A question that has ended
// already gives schema.ErrDecided or schema.ErrExpired.
//
// To take back an Ask, cancel its ctx instead.
func (c *Client) Withdraw(ctx context.Context, asked *schema.Event, reason string) error {
	endCall, err := c.beginCall()
	if err != nil {
		return fmt.Errorf("the question was not withdrawn: %w", err)
	}
	defer endCall()
	ctx, cancel := c.withClose(ctx)
	defer cancel()
	for _, hub := range c.hubsInOrder() {
		receipt := eventReceipt{hub: hub, ID: asked.ID, RequestSecret: asked.RequestSecret}
		if err = c.withdraw(ctx, receipt, reason); !errors.Is(err, errNotListening) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("the question was not withdrawn: %w", callerError(err))
	}
	return nil
}
