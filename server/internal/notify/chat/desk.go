// Package chat takes answers from chat services: who pressed a button, which answers it may give,
// and how messages are updated after the decision. Packages telegram and slack connect to their
// service and call a Desk.
//
// A person answers with an account that they linked with a one-time code of the dashboard, and with
// the rights that they have at that moment.
package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

// MaxChars is the length of a question and its call that a message shows completely.
const MaxChars = 2000

// Hub answers questions.
type Hub interface {
	// RespondAs answers as a person. It checks their rights.
	RespondAs(ctx context.Context, id schema.EventID, r *schema.Response, by auth.Identity) error
}

// Accounts are the accounts of the hub. *auth.Service implements it.
type Accounts interface {
	IdentityOf(name, via string) (auth.Identity, bool)
	CreatedAt(name string) (at time.Time, ok bool)
	PasskeyThreshold() schema.PasskeyThreshold
}

// Store holds questions, the messages about them, and the people of chat accounts.
type Store interface {
	store.Chats
	store.Questions
	store.Notifications
}

// Config configures a bot. All fields are required but API.
type Config struct {
	Channel  int64
	IsBrief  bool // messages show no details and have no buttons
	Store    Store
	Hub      Hub
	Accounts Accounts
	Feed     *feed.Feed
	Codes    *Codes
	Key      []byte // signs buttons
	HTTP     *http.Client
	API      string // base URL of the service; default: the public one
	Clock    func() time.Time
	Log      *slog.Logger
}

// Message is a notification about a question. Its texts contain nothing of the agent but sanitized
// names.
type Message struct {
	Notice   int64
	Question *buttons.Question
	Headline string
	Footer   string // risk, deadline and link
	Link     string // to the request; empty if it works only on the hub's machine
	// Plain is the message if it may offer no answer; with a shortened question, without links of
	// the agent.
	Plain string
}

// Service is the part of a bot that differs between services.
type Service interface {
	// Run takes answers and updates messages until ctx ends.
	Run(ctx context.Context) error

	// Send sends a message about a question to the chats of the channel.
	Send(ctx context.Context, m *Message) error

	// SendText sends a message that is not about a question.
	SendText(ctx context.Context, text string) error
}

// Bot sends messages of one channel and takes answers.
type Bot struct {
	*Desk
	Service
}

// Desk is the part of a bot that all services share.
type Desk struct {
	Config
	via    string
	signer *buttons.Signer

	stopped atomic.Value // string: why the bot reads no more answers; empty: it does
	name    atomic.Value // string: of the bot; empty: not known yet
}

// NewDesk returns the desk of a bot. Answers are recorded as given via a service.
func NewDesk(via string, cfg Config) *Desk {
	return &Desk{Config: cfg, via: via, signer: buttons.NewSigner(cfg.Key, cfg.Channel)}
}

// Kind returns the kind of channel.
func (d *Desk) Kind() string { return d.via }

// Stopped returns why the bot takes no more answers, as one sentence; empty if it does.
func (d *Desk) Stopped() string {
	reason, _ := d.stopped.Load().(string)
	return reason
}

// Stop makes the bot take no more answers, for a reason as one sentence.
func (d *Desk) Stop(reason string) { d.stopped.Store(reason) }

// Name returns the bot's user name, or empty while it is unknown.
func (d *Desk) Name() string {
	name, _ := d.name.Load().(string)
	return name
}

// SetName sets the bot's user name.
func (d *Desk) SetName(name string) { d.name.Store(name) }

// Link links an account by a code and returns the text for its person.
func (d *Desk) Link(ctx context.Context, text, account, name string) (shown string, err error) {
	var made code
	ok, err := d.Codes.Take(ctx, flows.Key{Kind: codes, Secret: text}, &made)
	if err != nil {
		return "", err
	}
	person := made.Person
	since, exists := d.Accounts.CreatedAt(person)
	if !ok || !exists || made.MadeAt.Before(since) {
		return "This code is not valid. Codes work once, for ten minutes. Get a new one in the dashboard, under Settings, Preferences.", nil
	}
	if err := d.Store.LinkChatAccount(ctx, store.ChatAccount{Kind: d.via, Account: account, Label: Label(name), Person: person}); err != nil {
		return "", err
	}
	return "This account is now linked to " + person + ". Your answers here count as theirs.", nil
}

// maxLabelChars limits the shown name of an account.
const maxLabelChars = 60

// Label returns a name of a service without invisible characters, shortened.
func Label(name string) string {
	if runes := []rune(name); len(runes) > maxLabelChars {
		name = string(runes[:maxLabelChars])
	}
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return -1
		}
		return r
	}, name)
}

// The texts for people whose answer was not taken.
const (
	notLinked     = "This account is not linked to a person."
	foreignButton = "This button does not belong to this hub any more. Answer in the dashboard."
	changed       = "The request has changed since this message. Answer in the dashboard."
	usedButton    = "You have used this button. Change your answer in the dashboard."
	noTextAnswer  = "This request can't be answered by a message. Answer in the dashboard."
)

// identity returns the person who linked an account, with their present rights.
func (d *Desk) identity(ctx context.Context, account string) (id auth.Identity, ok bool, err error) {
	found, err := d.Store.ChatAccount(ctx, d.via, account)
	if errors.Is(err, schema.ErrNotFound) {
		return id, false, nil
	}
	if err != nil {
		return id, false, err
	}
	since, exists := d.Accounts.CreatedAt(found.Person)
	if !exists || found.LinkedAt.Before(since) {
		return id, false, nil // the name belongs to a later account, or the account was reset
	}
	id, ok = d.Accounts.IdentityOf(found.Person, d.via)
	return id, ok, nil
}

// Press handles a press of the button with data by an account and returns the text for its person.
// It fails only if the press has to be handled again.
func (d *Desk) Press(ctx context.Context, data, account string) (shown string, err error) {
	p, ok := buttons.Parse(data)
	if !ok {
		return foreignButton, nil
	}
	q, err := d.read(ctx, p.Question)
	if err != nil || q == nil {
		return foreignButton, err
	}
	if !d.signer.Signed(data, p, q.UID) {
		return foreignButton, nil
	}
	by, ok, err := d.identity(ctx, account)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return notLinked, nil
	}
	return d.decide(ctx, q, p, by, func(offer *buttons.Offer) *schema.Response {
		for _, offered := range offer.Buttons {
			if offered.Answer == p.Answer {
				r, _ := q.Response(p.Answer, p.Revision)
				return r
			}
		}
		return nil
	})
}

// Reply handles an account's reply to a message of the bot, and returns the bot's own reply; empty:
// none. It fails only if the reply has to be handled again.
func (d *Desk) Reply(ctx context.Context, place store.ChatMessage, account, text string) (shown string, err error) {
	sent, err := d.Store.ChatMessage(ctx, d.Channel, place.Chat, place.Message)
	if errors.Is(err, schema.ErrNotFound) {
		return "", nil // not about a question
	}
	if err != nil {
		return "", err
	}
	by, ok, err := d.identity(ctx, account)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return notLinked, nil
	case text == "":
		return noTextAnswer, nil
	}
	q, err := d.read(ctx, sent.Question)
	if err != nil || q == nil {
		return "", err
	}
	p := buttons.Press{Notice: sent.Notice, Question: sent.Question, Revision: sent.Revision}
	return d.decide(ctx, q, p, by, func(offer *buttons.Offer) *schema.Response {
		if !offer.CanReply {
			return nil
		}
		return &schema.Response{Response: &text, Revision: sent.Revision}
	})
}

// read reads a question; nil: it was removed by retention.
func (d *Desk) read(ctx context.Context, id schema.EventID) (*buttons.Question, error) {
	stored, err := d.Store.Question(ctx, id)
	if errors.Is(err, schema.ErrNotFound) || errors.Is(err, schema.ErrNoQuestion) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, err
	}
	return buttons.Read(stored)
}

// Offer returns the present offer of a message about a question.
func (d *Desk) Offer(q *buttons.Question) buttons.Offer {
	if d.Stopped() != "" {
		return buttons.Offer{Refused: "the hub does not read answers from this bot"}
	}
	return d.offer(q)
}

func (d *Desk) offer(q *buttons.Question) buttons.Offer {
	return buttons.OfferFor(q, buttons.Limits{MaxChars: MaxChars, Threshold: d.Accounts.PasskeyThreshold(), IsBrief: d.IsBrief})
}

// Data returns the data of a button in a message.
func (d *Desk) Data(m *Message, answer buttons.Answer) string {
	q := m.Question
	return d.signer.Data(buttons.Press{Notice: m.Notice, Question: q.ID, Revision: q.Status.Revision, Answer: answer}, q.UID)
}

// decide answers a question with the response that response returns for the present offer, and
// returns the text for the person. The offer is computed again, because risk, call and settings can
// have changed since the message was sent.
func (d *Desk) decide(
	ctx context.Context, q *buttons.Question, p buttons.Press, by auth.Identity, response func(*buttons.Offer) *schema.Response,
) (shown string, err error) {
	if q.Status.IsSettled() {
		return "Already " + buttons.Outcome(&q.Status) + ".", nil
	}
	if q.ContentRevision() > p.Revision {
		return changed, nil
	}
	offer := d.offer(q)
	if offer.Refused != "" {
		return "Answer in the dashboard: " + offer.Refused + ".", nil
	}
	r := response(&offer)
	if r == nil {
		return noTextAnswer, nil
	}
	use := d.signer.Use(p, q.UID, by.Name)
	used, err := d.Store.IsLinkUsed(ctx, q.ID, use)
	if err != nil {
		return "", err
	}
	if used {
		return usedButton, nil
	}
	if err := d.Hub.RespondAs(ctx, q.ID, r, by); err != nil {
		return d.refused(ctx, q.ID, err)
	}
	if err := d.Store.UseLink(context.WithoutCancel(ctx), q.ID, use); err != nil {
		return "", err
	}
	now, err := d.read(ctx, q.ID)
	switch {
	case err != nil || now == nil || now.Status.IsSettled():
		return "Your answer is stored.", nil //nolint:nilerr // it is stored
	case now.Status.Held != nil:
		return "Your answer is stored. It can be undone in the dashboard until it is sent.", nil
	default:
		return "Your vote is stored. The request needs more votes.", nil
	}
}

// refused returns the text for a person whose answer the hub refused. It fails if the answer should be
// tried again.
func (d *Desk) refused(ctx context.Context, id schema.EventID, err error) (shown string, again error) {
	var status *schema.StatusError
	switch {
	case errors.Is(err, schema.ErrStorage), errors.Is(err, schema.ErrStopping), ctx.Err() != nil:
		return "", err
	case (errors.Is(err, schema.ErrDecided) || errors.Is(err, schema.ErrExpired)) && errors.As(err, &status):
		return "Already " + buttons.Outcome(&status.Status) + ".", nil
	case errors.Is(err, schema.ErrStale):
		return changed, nil
	case errors.Is(err, schema.ErrProofRequired):
		return "This answer needs your passkey. Answer in the dashboard.", nil
	case errors.Is(err, schema.ErrNotAllowed), errors.Is(err, schema.ErrSignIn), errors.Is(err, schema.ErrSelfApproval):
		return "You may not answer this request. Nothing was decided.", nil
	default:
		d.Log.Warn("an answer from a chat was refused", "via", d.via, "channel", d.Channel, "question", id, "err", err)
		return "Nothing was decided. Answer in the dashboard.", nil
	}
}

// codeLifetime is how long a code links an account.
const codeLifetime = 10 * time.Minute

// Codes are the one-time codes with which signed-in people link their chat accounts. A bot takes the
// codes of all hubs.
type Codes struct{ flows.Flows }

// code is the state of a code.
type code struct {
	Person string
	MadeAt time.Time
}

// codes has one code per person.
var codes = flows.Kind{Name: "chat code", Limit: 1}

// New returns a code for a person, and when it expires. It replaces the person's previous code.
func (c *Codes) New(ctx context.Context, person string, now time.Time) (text string, expires time.Time, err error) {
	text, expires = rand.Text(), now.Add(codeLifetime)
	return text, expires, c.Put(ctx, flows.Key{Kind: codes, Owner: person, Secret: text}, code{person, now}, expires)
}

// Reader reads answers from a chat service: from one connection until it ends, or the next ones.
type Reader struct {
	// Read reports whether the service accepted the bot. Without an error it is called again at once.
	Read func(ctx context.Context) (accepted bool, err error)
	// StopReason returns why a bot can't read answers any more; empty: a repetition may succeed.
	StopReason func(err error) string
}

// RunBot takes answers and updates messages until ctx ends.
func (d *Desk) RunBot(ctx context.Context, r Reader, update Update) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group.Go(func() { d.readAnswers(ctx, r) })
	return d.settleMessages(ctx, update)
}

// readAnswers reads until ctx ends or the service refuses the bot.
func (d *Desk) readAnswers(ctx context.Context, r Reader) {
	failures := 0
	for ctx.Err() == nil && d.Stopped() == "" {
		accepted, err := r.Read(ctx)
		if ctx.Err() != nil {
			return
		}
		if accepted {
			failures = 0
		}
		if err == nil {
			continue
		}
		if why := r.StopReason(err); why != "" {
			d.Stop(why)
			d.Log.Error("answers from a chat service stopped", "service", d.via, "channel", d.Channel, "err", err)
			return
		}
		failures++
		delay := RetryDelay(err, failures)
		d.Log.Warn("answers from a chat service not read", "service", d.via, "channel", d.Channel, "retry_in", delay, "err", err)
		if !feed.Sleep(ctx, delay) {
			return
		}
	}
}
