package agentclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

// Forever as a Timeout waits for an answer for ever.
const Forever time.Duration = -1

// Request is a question to a person. Only Question is required.
type Request struct {
	Question string
	// Kind defaults to a choice when there are Choices, to a text when there are
	// Questions, else to a permission.
	Kind      schema.Kind
	Choices   []string
	Questions []schema.FormQuestion // several questions on one card, answered together
	Timeout   time.Duration         // default: schema.DefaultTimeout; or Forever

	// FailRun makes it an error, ErrTimedOut, when nobody answers in time.
	FailRun bool

	ToolCall *schema.ToolCall // what will run on a yes
	Risk     schema.Risk
	Context  *schema.Context

	// OnUnreachable overrides the client's.
	OnUnreachable Fallback

	// Event is the event that carries the question; what it leaves out is filled
	// in, HookEventType with DecisionPoint. Its HumanInTheLoop can hold the rarer
	// parts of a question, such as RequiredApprovals and Recipients; a field of the
	// Request that is set wins over it. An IdempotencyKey of your own lets a restarted
	// agent take up its old question, and its answer.
	Event schema.Event

	// OnWaiting, when set, is called once, by Ask itself, when a hub has the
	// question. It must not block.
	OnWaiting func(WaitStatus)
}

// WaitStatus is a question that a hub has and nobody has answered yet.
type WaitStatus struct {
	EventID schema.EventID
	Page    string    // where a person can answer it
	Until   time.Time // when it times out, by this machine's clock; zero: never
	// Watching is how many pages follow the hub: with none, nobody may see the
	// question in time. nil: the hub doesn't say.
	Watching *int
}

// Ask puts a question to a person and blocks until there is an answer, the
// timeout has passed or ctx ends. All but two ends are a Decision with a nil error:
//
//   - ctx ended: the question is withdrawn at the hub, which takes up to 300 ms,
//     and the error is ctx.Err(). Where ctx has a cause of its own, the hub is told
//     it. ErrClosed is the same for Close.
//   - the request is not valid, or the hub refused it: the error is one of
//     schema's, mostly schema.ErrInvalid.
//
// With OnUnreachable Fail, ErrUnreachable and ErrMalformed come on top, and with
// FailRun ErrTimedOut. Whatever the error, the Decision beside it is not Approved.
//
// A person may give the question more time, or all there is: then Ask waits longer
// than Timeout. End ctx to wait no longer than you can.
//
// Ask fails closed: it approves only on an answer that fits the question in every
// part, or without any hub when OnUnreachable is Allow.
func (c *Client) Ask(ctx context.Context, r Request) (Decision, error) {
	d, _, err := c.askWithReceipt(ctx, r)
	return d, err
}

// askWithReceipt is Ask, and the hub's receipt of the question: the zero one when no hub had it.
func (c *Client) askWithReceipt(ctx context.Context, r Request) (Decision, eventReceipt, error) {
	if err := ctx.Err(); err != nil {
		return Decision{Kind: r.question().Type, Outcome: schema.Withdrawn, Source: schema.ByAgent}, eventReceipt{}, err
	}
	endCall, err := c.beginCall()
	if err != nil {
		d, err := r.rejection(err)
		return d, eventReceipt{}, err
	}
	defer endCall()
	a, err := c.newAskRun(r)
	if err != nil {
		d, err := r.rejection(err)
		return d, eventReceipt{}, err
	}
	defer c.listener.release(a.pending)
	defer close(a.pending.delivered)
	a.run(ctx)
	return a.pending.decision, a.receipt, a.pending.err
}

func (r Request) rejection(err error) (Decision, error) {
	d := Decision{Kind: r.question().Type, Outcome: Rejected, Source: NotAsked}
	return d, fmt.Errorf("the question was not asked: %w", err)
}

// AskPermission asks for a yes or a no; see Approved.
func (c *Client) AskPermission(ctx context.Context, question string) (Decision, error) {
	return c.Ask(ctx, Request{Question: question, Kind: schema.Permission})
}

// AskText asks for a text; see Answered and Text.
func (c *Client) AskText(ctx context.Context, question string) (Decision, error) {
	return c.Ask(ctx, Request{Question: question, Kind: schema.FreeText})
}

// AskChoice asks for one of the labels; see Answered and Choice.
func (c *Client) AskChoice(ctx context.Context, question string, labels ...string) (Decision, error) {
	return c.Ask(ctx, Request{Question: question, Kind: schema.Choice, Choices: labels})
}

// newAskRun makes the event, checks it and opens its path. The path is open before
// anybody is told of it.
func (c *Client) newAskRun(r Request) (*askRun, error) {
	fallback := cmp.Or(r.OnUnreachable, c.opts.OnUnreachable, Deny)
	if err := fallback.validate(); err != nil {
		return nil, err
	}
	q := r.question()
	a := &askRun{client: c, event: r.Event, timeout: q.TimeoutDuration(), onWaiting: r.OnWaiting, posted: make(chan postResult, 1)}
	a.event.HumanInTheLoop = q
	a.event.HookEventType = cmp.Or(a.event.HookEventType, "DecisionPoint")
	a.event.Summary = cmp.Or(a.event.Summary, oneLine(q.Question, 120))
	if len(a.event.Payload) == 0 {
		payload, err := json.Marshal(map[string]string{"question": q.Question})
		if err != nil {
			return nil, err
		}
		a.event.Payload = payload
	}
	c.fillDefaults(&a.event)
	if err := a.event.Validate(); err != nil {
		return nil, err
	}
	a.pending = newPendingAsk(&a.event, fallback)
	address, err := c.listener.register(a.pending)
	if err == nil {
		a.event.HumanInTheLoop.ResponseWebSocketURL = address
	} // else: where listening is forbidden the answer is pulled
	return a, nil
}

// question is the request as the hub gets it, without the address.
func (r Request) question() *schema.HumanInTheLoop {
	var q schema.HumanInTheLoop
	if r.Event.HumanInTheLoop != nil {
		q = *r.Event.HumanInTheLoop
	}
	q.Question = cmp.Or(r.Question, q.Question)
	q.Risk = cmp.Or(r.Risk, q.Risk)
	q.ToolCall = cmp.Or(r.ToolCall, q.ToolCall)
	q.Context = cmp.Or(r.Context, q.Context)
	if r.Choices != nil {
		q.Choices = r.Choices
	}
	if r.Questions != nil {
		q.Questions = r.Questions
	}
	if r.FailRun {
		q.OnTimeout = schema.FailRun
	}
	q.Type = cmp.Or(r.Kind, q.Type, inferKind(&q))
	seconds, needed := q.TimeoutDuration().Seconds(), true
	if r.Timeout != 0 {
		seconds = max(r.Timeout, 0).Seconds()
	}
	q.Timeout, q.RequiresResponse = &seconds, &needed
	q.ProtocolVersion, q.ListenerKey, q.ResponseWebSocketURL = 2, randomToken(32), ""
	return &q
}

// inferKind is the kind of a question that doesn't say it.
func inferKind(q *schema.HumanInTheLoop) schema.Kind {
	switch {
	case len(q.Choices) > 0:
		return schema.Choice
	case len(q.Questions) > 0:
		return schema.FreeText
	default:
		return schema.Permission
	}
}

// oneLine is text on one line, of at most n characters.
func oneLine(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
