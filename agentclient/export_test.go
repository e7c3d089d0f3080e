package agentclient

import (
	"net/http"
	"time"

	"github.com/hookback/hookback/schema"
)

// Pacing lets tests shorten the client's durations; zero keeps the default.
type Pacing struct{ PostTimeout, Grace, PullDelay, PollTimeout, WithdrawTimeout, Linger time.Duration }

// NewWithPacing is New at another pace.
func NewWithPacing(o Options, p Pacing) *Client {
	c := New(o)
	c.pacing = defaultPacing
	for _, d := range []struct{ to, from *time.Duration }{
		{&c.pacing.postTimeout, &p.PostTimeout}, {&c.pacing.grace, &p.Grace}, {&c.pacing.pullDelay, &p.PullDelay},
		{&c.pacing.pollTimeout, &p.PollTimeout}, {&c.pacing.withdrawTimeout, &p.WithdrawTimeout}, {&c.pacing.linger, &p.Linger},
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
	w := newPendingAsk(&schema.Event{HumanInTheLoop: q}, Fail)
	m, err := readMessage(frame)
	result := w.handleMessage(m, err)
	return w.decision, result, w.err
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
