package agentclient

import (
	"net/http"
	"time"

	"github.com/hookback/hookback/schema"
)

// Timings lets tests shorten the client's durations; zero keeps the default.
type Timings struct{ PostTimeout, Grace, PullDelay, PollTimeout, WithdrawTimeout, Linger time.Duration }

// NewWithTimings is New at another pace.
func NewWithTimings(o Options, p Timings) *Client {
	c := New(o)
	c.timings = defaultTimings
	for _, d := range []struct{ to, from *time.Duration }{
		{&c.timings.postTimeout, &p.PostTimeout}, {&c.timings.grace, &p.Grace}, {&c.timings.pullDelay, &p.PullDelay},
		{&c.timings.pollTimeout, &p.PollTimeout}, {&c.timings.withdrawTimeout, &p.WithdrawTimeout}, {&c.timings.linger, &p.Linger},
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

// DecideFrame is what becomes of one frame for a question.
func DecideFrame(q *schema.HumanInTheLoop, frame []byte) (Decision, string, error) {
	p := newPendingAsk(&schema.Event{HumanInTheLoop: q}, Fail)
	m, err := readMessage(frame)
	result := p.applyMessage(m, err)
	return p.decision, result, p.err
}

// HubAddresses is how the address list is made.
var HubAddresses = hubAddresses

// NewKey makes an idempotency key.
var NewKey = newKey

// OneLine is how a summary is made.
var OneLine = oneLine

// IsSimpleCommandFor is how a command is judged on Windows and elsewhere.
var IsSimpleCommandFor = isSimpleCommandFor

// MatchGlob matches the whole text.
func MatchGlob(pattern, text string) bool { return newGlob(pattern, false).match(text) }
