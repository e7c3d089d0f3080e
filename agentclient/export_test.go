package agentclient

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
)

// Timings replaces the client's timeouts and delays. Zero fields keep the default.
type Timings struct {
	PostTimeout, Grace, PullDelay, PollTimeout, WithdrawTimeout, ReadTimeout, Linger time.Duration
}

// NewWithTimings is New with other timeouts and delays.
func NewWithTimings(o Options, p Timings) *Client {
	c := New(o)
	c.timings = defaultTimings
	for _, d := range []struct{ to, from *time.Duration }{
		{&c.timings.postTimeout, &p.PostTimeout}, {&c.timings.grace, &p.Grace}, {&c.timings.pullDelay, &p.PullDelay},
		{&c.timings.pollTimeout, &p.PollTimeout}, {&c.timings.withdrawTimeout, &p.WithdrawTimeout},
		{&c.timings.readTimeout, &p.ReadTimeout}, {&c.timings.linger, &p.Linger},
	} {
		if *d.from != 0 {
			*d.to = *d.from
		}
	}
	return c
}

// Listening reports whether the client's port is open.
func (c *Client) Listening() bool {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	return c.listener.run != nil
}

// SetTransport replaces the client's HTTP transport.
func (c *Client) SetTransport(t http.RoundTripper) {
	c.setup()
	c.http.Transport = t
}

// RunPull pulls the answer to a question that Send posted. It returns when no hub can be
// asked any more, the question is resolved, or ctx ends.
func (c *Client) RunPull(ctx context.Context, asked *schema.Event) {
	c.setup()
	a := &askRun{client: c, event: *asked, pending: newPendingAsk(asked, fallback{effect: Deny})}
	a.receipt = eventReceipt{hub: c.hubs[0], ID: asked.ID, RequestSecret: asked.RequestSecret}
	a.pull(ctx)
}

// DecideFrame returns the decision about one frame, the result for its acknowledgment and
// the error of Ask.
func DecideFrame(q *schema.HumanInTheLoop, frame []byte) (Decision, string, error) {
	p := newPendingAsk(&schema.Event{HumanInTheLoop: q}, fallback{effect: Fail})
	m, err := p.open(context.Background(), frame)
	result := p.applyMessage(m, err)
	return p.decision, result, p.err
}

// HubAddresses parses the address list.
var HubAddresses = parseHubs

// NewKey returns an idempotency key.
var NewKey = transport.NewKey

// OneLine formats a summary.
var OneLine = oneLine

// SealVerifier returns the decisions of a client that trusts the hub of a pin line.
func SealVerifier(t testing.TB, pinLine string) func(frame []byte) Decision {
	t.Helper()
	pin, err := parsePin(strings.TrimSpace(pinLine))
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Hubs: []string{"http://127.0.0.1:1"}})
	c.setup()
	c.timings.postTimeout = time.Millisecond
	c.trustOnce.Do(func() { c.trust = &Trust{pins: []Pin{pin}} })
	return func(frame []byte) Decision {
		q := Request{Question: "Go?"}.question()
		p := newPendingAsk(&schema.Event{HumanInTheLoop: q}, fallback{effect: Allow})
		p.verify = (&askRun{client: c, pending: p}).verify
		m, err := p.open(context.Background(), frame)
		p.applyMessage(m, err)
		return p.decision
	}
}

// LoadTrustFrom is LoadTrust with another file and owner in place of the administrator's.
func LoadTrustFrom(o Options, systemFile string, owner int) (*Trust, error) {
	return loadTrustFrom(o, systemFile, owner)
}

// OriginOf normalizes an address.
var OriginOf = originOf
