// Package ntfy sends messages with answers to a topic of an ntfy server. The two answers of a permission of
// low risk are http actions: the phone posts a signed link to the hub. After the decision the message
// is updated under its sequence id, which ntfy servers from 2.16 on show in place of the first.
package ntfy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/store"
)

// Kind is the kind of channel.
const Kind = "ntfy"

const (
	// maxBytes is the length of a message that ntfy shows as text.
	maxBytes = 4096
	// callTimeout limits a request.
	callTimeout = 15 * time.Second
)

// Address is the content of a channel's address: ntfy://USER:PASSWORD@HOST/TOPIC?answers=yes. An access
// token is a password without a user.
type Address struct {
	Server         *url.URL
	Topic          string
	User, Password string
}

var topic = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

// TakesAnswers reports whether an address asks for answers. Without, channels have the form and the
// settings of shoutrrr.
func TakesAnswers(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == Kind && u.Query().Has("answers")
}

// ParseAddress reads an address with answers. Its errors do not contain the password.
func ParseAddress(address string) (a Address, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return a, errors.New("it is no address")
	}
	a.User = u.User.Username()
	a.Password, _ = u.User.Password()
	a.Topic = strings.Trim(u.Path, "/")
	for name := range u.Query() {
		if name != "answers" {
			return a, fmt.Errorf("it has the setting %q, which a channel with answers does not support", name)
		}
	}
	switch {
	case u.Query().Get("answers") != "yes":
		return a, errors.New("the value of answers must be yes")
	case a.Password == "":
		return a, errors.New("a channel with answers needs the credentials of a topic that only its person reads: ntfy://USER:PASSWORD@HOST/TOPIC?answers=yes")
	case !topic.MatchString(a.Topic):
		return a, errors.New("the topic is not valid")
	}
	a.Server = &url.URL{Scheme: "https", Host: u.Host}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() {
		a.Server.Scheme = "http"
	}
	return a, nil
}

// Config configures a Bot.
type Config struct {
	chat.Config
	Address
	HTTP  *http.Client
	HubID string // makes sequence ids of hubs differ
}

// Bot sends the messages of one channel. It implements chat.Service; answers reach the hub as signed links.
type Bot struct {
	*chat.Desk
	cfg Config
}

// New returns a Bot. It connects when Run or Send is called.
func New(cfg Config) *Bot { return &Bot{Desk: chat.NewDesk(Kind, cfg.Config), cfg: cfg} }

// Run updates messages until ctx ends.
func (b *Bot) Run(ctx context.Context) error { return b.SettleMessages(ctx, b.update) }

// publication is the body of a publication as JSON. Source: https://docs.ntfy.sh/publish/#publish-as-json.
type publication struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title,omitempty"`
	Message  string   `json:"message"`
	Click    string   `json:"click,omitempty"`
	Actions  []action `json:"actions,omitempty"`
	Sequence string   `json:"sequence_id,omitempty"`
}

type action struct {
	Action  string            `json:"action"`
	Label   string            `json:"label"`
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Clear   bool              `json:"clear"`
}

// Send sends a message about a question.
func (b *Bot) Send(ctx context.Context, m *chat.Message) error {
	p := &publication{Title: m.Headline, Message: m.Plain, Click: m.Link, Sequence: fmt.Sprintf("hookback-%.8s-%d", b.cfg.HubID, m.Notice)}
	offer := b.Offer(m.Question)
	if whole := offer.Text + "\n\n" + m.Footer; m.Vote != nil && offer.Refused == "" && len(whole) <= maxBytes &&
		m.Question.Ask.Type == schema.Permission && m.Question.IsLowRisk() {
		actions, err := voteActions(m.Vote)
		if err != nil {
			return err
		}
		p.Message, p.Actions = whole, actions
	}
	if err := b.publish(ctx, p); err != nil {
		return err
	}
	return b.AddMessage(ctx, store.ChatMessage{Chat: b.cfg.Topic, Message: p.Sequence}, m, b.update)
}

// SendText sends a message that is not about a question.
func (b *Bot) SendText(ctx context.Context, text string) error {
	return b.publish(ctx, &publication{Message: text})
}

// update replaces a message by the question and its outcome, without actions.
func (b *Bot) update(ctx context.Context, m store.ChatMessage, o chat.Outcome) error {
	p := &publication{Title: o.Headline, Message: o.Result, Sequence: m.Message}
	if o.Question != "" {
		p.Message = o.Question + "\n\n" + o.Result
	}
	return b.publish(ctx, p)
}

// voteActions are the actions that post a signed link.
func voteActions(vote *chat.Vote) (list []action, err error) {
	for _, approve := range []bool{true, false} {
		body, err := json.Marshal(map[string]any{"token": vote.Token, "permission": approve})
		if err != nil {
			return nil, err
		}
		label := "Deny"
		if approve {
			label = "Approve"
		}
		list = append(list, action{
			Action: "http", Label: label, URL: vote.URL, Method: http.MethodPost, Body: string(body), Clear: true,
			Headers: map[string]string{"Content-Type": "application/json"},
		})
	}
	return list, nil
}

// publish publishes a message. Its errors do not contain credentials.
func (b *Bot) publish(ctx context.Context, p *publication) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p.Topic = b.cfg.Topic
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.cfg.Server.String()+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(b.cfg.User, b.cfg.Password)
	if p.Sequence != "" {
		req.Header.Set("X-Sequence-ID", p.Sequence)
	}
	resp, err := b.cfg.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("connect to ntfy: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // drained, so that the connection can be reused
	if resp.StatusCode >= 300 {
		return &chat.RefusalError{Service: Kind, Method: "publish", Code: max(resp.StatusCode, http.StatusBadRequest)}
	}
	return nil
}
