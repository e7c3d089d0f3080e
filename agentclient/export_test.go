package agentclient

import (
	"context"
	"net/http"
	"time"

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
	a := &askRun{client: c, event: *asked, pending: newPendingAsk(asked, Deny)}
	a.receipt = eventReceipt{hub: c.hubs[0], ID: asked.ID, RequestSecret: asked.RequestSecret}
	a.pull(ctx)
}

// DecideFrame returns the decision about one frame, the result for its acknowledgment and
// the error of Ask.
func DecideFrame(q *schema.HumanInTheLoop, frame []byte) (Decision, string, error) {
	p := newPendingAsk(&schema.Event{HumanInTheLoop: q}, Fail)
	m, err := readMessage(frame)
	result := p.applyMessage(m, err)
	return p.decision, result, p.err
}

// HubAddresses parses the address list.
var HubAddresses = hubAddresses

// NewKey returns an idempotency key.
var NewKey = newKey

// OneLine formats a summary.
var OneLine = oneLine

// SimpleWords exports simpleWords.
func SimpleWords(text string, windows bool) ([]string, bool) { return simpleWords(text, windows) }

// IsSimpleCommandFor checks a command for Windows or for other systems.
var IsSimpleCommandFor = isSimpleCommandFor

// MatchGlob reports whether pattern matches the whole text.
func MatchGlob(pattern, text string) bool { return newGlob(pattern, false).match(text) }
