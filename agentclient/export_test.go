package agentclient

import (
	"net/http"
	"time"

	"github.com/hookback/hookback/schema"
)

// Pace lets tests shorten the client's durations; zero keeps the default.
type Pace struct{ Attempt, Grace, PullAfter, Poll, Withdraw, Linger time.Duration }

// NewPaced is New at another pace.
func NewPaced(o Options, p Pace) *Client {
	c := New(o)
	c.pace = defaultPace
	for _, d := range []struct{ to, from *time.Duration }{
		{&c.pace.attempt, &p.Attempt}, {&c.pace.grace, &p.Grace}, {&c.pace.pullAfter, &p.PullAfter},
		{&c.pace.poll, &p.Poll}, {&c.pace.withdraw, &p.Withdraw}, {&c.pace.linger, &p.Linger},
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
	w := newWaiter(&schema.Event{HumanInTheLoop: q}, Fail)
	m, err := readMessage(frame)
	result := w.offer(m, err)
	return w.decision, result, w.err
}

// HubAddresses is how the address list is made.
var HubAddresses = hubAddresses

// NewKey makes an idempotency key.
var NewKey = newKey

// OneLine is how a summary is made.
var OneLine = oneLine

// SimpleFor is how a command is judged on Windows and elsewhere.
var SimpleFor = simpleFor

// MatchGlob matches the whole text.
func MatchGlob(pattern, text string) bool { return newGlob(pattern, false).match(text) }
