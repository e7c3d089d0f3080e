package agentclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
)

// Forever is the Timeout of a question that never times out.
const Forever time.Duration = -1

// Request describes a question to a person. Only Question is required.
type Request struct {
	Question string
	// Kind defaults to schema.Choice with Choices, to schema.FreeText with
	// Questions, else to schema.Permission.
	Kind      schema.Kind
	Choices   []string
	Questions []schema.FormQuestion // a form whose questions are answered together
	Timeout   time.Duration         // default: schema.DefaultTimeout; Forever: none

	// AllowOther lets a person answer Choices with a text of their own: see Decision.Text.
	AllowOther bool

	// FailRun makes Ask return ErrTimedOut if no one answers in time.
	FailRun bool

	ToolCall *schema.ToolCall // the call that runs after an approval
	Risk     schema.Risk
	Context  *schema.Context
	// AgentPath names the agents from the root agent to the one that asks.
	AgentPath []string

	// RequiredApprovals is the quorum: the number of people who must agree. Default: 1.
	RequiredApprovals int
	// Recipients are the people who may answer. Default: everyone who may answer the
	// hub's questions.
	Recipients *schema.Recipients
	// RemindEvery is the pause before each reminder, and MaxReminders their number.
	// Default: no reminders; for a question without a timeout the hub's settings apply.
	RemindEvery  time.Duration
	MaxReminders int

	// OnUnreachable overrides Options.OnUnreachable.
	OnUnreachable Fallback

	// Event is the event that carries the question. Ask fills fields that it leaves
	// empty, HookEventType with "DecisionPoint". Its HumanInTheLoop may hold less
	// common parts of a question, such as EscalateTo and Suggestions; fields set in the
	// Request override it. With an IdempotencyKey and the same Secret a
	// restarted agent resumes its earlier question and gets its answer.
	Event schema.Event
	// Secret proves to the hub that this agent asked the question, which is needed to
	// resume it. It must be random, 32 to 128 printable ASCII characters, and stay
	// secret. The default is a new one for every question.
	Secret string

	// Accepts are the parts of a directive for the agent that its hook applies: see WaitStatus.
	Accepts control.Accepts

	// OnWaiting, if set, is called once, on Ask's own goroutine, when a hub has
	// stored the question. It must not block.
	OnWaiting func(WaitStatus)
	// OnReattached, if set, is called on another goroutine each time that the hub of the
	// waiting question can be reached again. It must not block.
	OnReattached func()
}

// WaitStatus describes a question that is stored in a hub and still pending.
type WaitStatus struct {
	EventID  schema.EventID
	PageURL  string    // dashboard URL where a person can answer; empty for a unix:// address
	Deadline time.Time // when the question times out, by the local clock; zero: never
	// Watching is the number of open dashboard pages. With 0, possibly no one sees
	// the question in time. It is nil if the hub does not report it.
	Watching *int
	// Settled reports whether the question ended when it was stored, for example because a
	// rule answered it. Ask returns the answer soon.
	Settled bool
	// Directive is for the agent, as far as Request.Accepts has its parts; nil: nothing.
	Directive *control.Directive
	// Reachable counts the people that a notification reaches now.
	Reachable int
}

// Ask sends a question to people and blocks until it is answered, times out, or ctx
// ends. Most outcomes, timeouts included, are a Decision with a nil error. Errors are:
//
//   - ctx.Err() if ctx ended. Ask first withdraws the question, which takes up to
//     300 ms, and sends the hub the cause of ctx if it has one. After Close the
//     error is ErrClosed.
//   - One of package schema, usually schema.ErrInvalid, if the request is invalid or
//     the hub rejected it.
//   - ErrUnreachable and ErrMalformed, if OnUnreachable is Fail, as it is by default for
//     all kinds but permissions.
//   - ErrTimedOut, only if FailRun is set.
//
// A Decision that is returned with an error is never Approved.
//
// People can extend a question's deadline or remove it, so Ask may block longer than
// Timeout. Set a deadline on ctx if you need a hard limit.
//
// Ask fails closed. It approves only if a valid answer fits the question in every
// part, or if no hub is reachable and OnUnreachable is Allow. If a hub is pinned (see
// Trust), a valid answer is one that a pinned key signed for exactly this question.
func (c *Client) Ask(ctx context.Context, r Request) (Decision, error) {
	d, _, err := c.askWithReceipt(ctx, r)
	return d, err
}

// askWithReceipt is Ask that also returns the hub's receipt, which is zero if no hub
// stored the question.
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

// AskPermission asks for an approval or a denial; see Decision.Approved.
func (c *Client) AskPermission(ctx context.Context, question string) (Decision, error) {
	return c.Ask(ctx, Request{Question: question, Kind: schema.Permission})
}

// AskText asks for free text; see Decision.Answered and Decision.Text.
func (c *Client) AskText(ctx context.Context, question string) (Decision, error) {
	return c.Ask(ctx, Request{Question: question, Kind: schema.FreeText})
}

// AskChoice asks for one of the labels; see Decision.Answered and Decision.Choice.
func (c *Client) AskChoice(ctx context.Context, question string, labels ...string) (Decision, error) {
	return c.Ask(ctx, Request{Question: question, Kind: schema.Choice, Choices: labels})
}

// newAskRun builds and validates the event and registers its listener path. The path
// accepts connections before any hub receives it.
func (c *Client) newAskRun(r Request) (*askRun, error) {
	q := r.question()
	fallback, err := c.fallbackFor(r.OnUnreachable, q)
	if err != nil {
		return nil, err
	}
	a := &askRun{
		client: c, body: eventBody{accepts: r.Accepts.String()}, event: r.Event, timeout: q.TimeoutDuration(),
		onWaiting: r.OnWaiting, onReattached: r.OnReattached, posted: make(chan postResult, 1),
	}
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
	a.pending.verify = a.verify
	address, err := c.listener.register(a.pending)
	if err == nil {
		a.event.HumanInTheLoop.ResponseWebSocketURL = address
	} // without a listener, for example in a sandbox, the answer is pulled
	return a, a.encode()
}

// encode encodes the event and computes the digest of its question from the bytes that
// the hub receives.
func (a *askRun) encode() (err error) {
	if a.body.json, err = json.Marshal(&a.event); err != nil {
		return fmt.Errorf("%w: encode event: %w", schema.ErrInvalid, err)
	}
	a.body.asks = true
	a.digest, err = sign.AskDigest(a.body.json)
	return err
}

// question returns the question for the hub, still without a callback URL.
func (r Request) question() *schema.HumanInTheLoop {
	var q schema.HumanInTheLoop
	if r.Event.HumanInTheLoop != nil {
		q = *r.Event.HumanInTheLoop
	}
	q.Question = cmp.Or(r.Question, q.Question)
	q.Risk = cmp.Or(r.Risk, q.Risk)
	q.ToolCall = cmp.Or(r.ToolCall, q.ToolCall)
	q.Context = cmp.Or(r.Context, q.Context)
	q.RequiredApprovals = cmp.Or(r.RequiredApprovals, q.RequiredApprovals)
	q.Recipients = cmp.Or(r.Recipients, q.Recipients)
	q.ReminderIntervalSeconds = cmp.Or(r.RemindEvery.Seconds(), q.ReminderIntervalSeconds)
	q.ReminderMaxCount = cmp.Or(r.MaxReminders, q.ReminderMaxCount)
	if r.AgentPath != nil {
		q.AgentPath = r.AgentPath
	}
	if r.Choices != nil {
		q.Choices = r.Choices
	}
	q.AllowOther = r.AllowOther || q.AllowOther
	if r.Questions != nil {
		q.Questions = r.Questions
	}
	if r.FailRun {
		q.OnTimeout = schema.FailRun
	}
	q.Type = cmp.Or(r.Kind, q.Type, q.DefaultKind())
	seconds, needed := q.TimeoutDuration().Seconds(), true
	if r.Timeout != 0 {
		seconds = max(r.Timeout, 0).Seconds()
	}
	q.Timeout, q.RequiresResponse = &seconds, &needed
	q.ProtocolVersion, q.ListenerKey, q.ResponseWebSocketURL = 2, transport.RandomToken(32), ""
	q.RequestSecret = cmp.Or(r.Secret, q.RequestSecret, transport.RandomToken(32))
	q.Nonce = schema.NonceOf(q.RequestSecret)
	return &q
}

// oneLine collapses whitespace and truncates text to n characters.
func oneLine(text string, n int) string {
	return schema.Shorten(strings.Join(strings.Fields(text), " "), n)
}
