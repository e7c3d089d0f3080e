// Package telegram asks questions in Telegram chats and takes the answers: by buttons, and by replies
// to questions for a text. It connects to Telegram only; Telegram does not connect to the hub.
//
// A person answers with an account that they linked with a one-time code of the dashboard, and with
// the rights that they have at that moment. Every update is handled before its offset is stored. After
// a stop of the hub it can be delivered again; it then finds the question settled or the button used.
package telegram

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/store"
)

// Via is how a person's answer is recorded.
const Via = "telegram"

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

// Config configures a Bot. All fields are required but API, Clock and Log.
type Config struct {
	Channel  int64
	Token    string
	Chats    []string // that messages are sent to
	Silent   bool     // messages make no sound
	IsBrief  bool     // messages show no details and have no buttons
	Store    Store
	Hub      Hub
	Accounts Accounts
	Feed     *feed.Feed
	Codes    *Codes
	Key      []byte // signs buttons
	HTTP     *http.Client

	API   string           // default https://api.telegram.org
	Clock func() time.Time // default time.Now
	Log   *slog.Logger     // default: discard
}

// Bot is one bot of Telegram, which belongs to one channel.
type Bot struct {
	Config
	api    client
	signer *buttons.Signer

	mu      sync.Mutex
	stopped string // why the bot reads no more answers; empty: it does
	name    string // @name of the bot; empty: not known yet
}

// New returns a Bot. It connects when Run or Send is called.
func New(cfg Config) *Bot {
	if cfg.API == "" {
		cfg.API = "https://api.telegram.org"
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Bot{Config: cfg, api: client{cfg.HTTP, cfg.API, cfg.Token}, signer: buttons.NewSigner(cfg.Key, cfg.Channel)}
}

// Stopped returns why the bot takes no more answers, as one sentence; empty if it does.
func (b *Bot) Stopped() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stopped
}

// Stop makes the bot take no more answers, for a reason as one sentence.
func (b *Bot) Stop(reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = reason
}

// Name returns the bot's user name, or empty while it is unknown.
func (b *Bot) Name() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.name
}

// The delays between failed requests for updates.
const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
)

// backoff returns the delay after a number of failures in a row, with a random part of a fifth.
func backoff(failures int) time.Duration {
	d := min(minBackoff<<min(failures-1, 12), maxBackoff)
	jitter, err := rand.Int(rand.Reader, big.NewInt(int64(d/5)))
	if err != nil {
		return d
	}
	return d + time.Duration(jitter.Int64())
}

// poll reads updates until ctx ends or Telegram refuses the bot.
func (b *Bot) poll(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil && b.Stopped() == "" {
		err := b.pollOnce(ctx)
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if why := stopReason(err); why != "" {
			b.Stop(why)
			b.Log.Error("answers from telegram stopped", "channel", b.Channel, "err", err)
			return
		}
		failures++
		delay := backoff(failures)
		var refused *apiError
		if errors.As(err, &refused) && refused.RetryAfter > 0 {
			delay = refused.RetryAfter
		}
		b.Log.Warn("updates from telegram not read", "channel", b.Channel, "retry_in", delay, "err", err)
		if !feed.Sleep(ctx, delay) {
			return
		}
	}
}

// stopReason returns why a bot can't read updates any more; empty: a repetition may succeed.
func stopReason(err error) string {
	var refused *apiError
	if !errors.As(err, &refused) {
		return ""
	}
	switch refused.Code {
	case http.StatusConflict:
		return "Another program reads the messages of this bot. Give the hub a bot for itself, then add the channel again."
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return "Telegram does not accept the token of this bot. Add the channel again with a valid token."
	default:
		return ""
	}
}

// pollOnce reads the next updates and handles them.
func (b *Bot) pollOnce(ctx context.Context) error {
	if b.Name() == "" {
		var me user
		if err := b.api.call(ctx, "getMe", 0, struct{}{}, &me); err != nil {
			return err
		}
		b.mu.Lock()
		b.name = me.Username
		b.mu.Unlock()
	}
	offset, err := b.Store.ChatOffset(ctx, b.Channel)
	if err != nil {
		return err
	}
	var updates []update
	if err := b.api.call(ctx, "getUpdates", pollWait, map[string]any{
		"offset": offset, "timeout": int(pollWait.Seconds()), "allowed_updates": []string{"message", "callback_query"},
	}, &updates); err != nil {
		return err
	}
	for i := range updates {
		if updates[i].ID < offset {
			continue
		}
		if err := b.handle(ctx, &updates[i]); err != nil {
			return err // the update is read again
		}
		offset = updates[i].ID + 1
		if err := b.Store.SetChatOffset(ctx, b.Channel, offset); err != nil {
			return err
		}
	}
	return nil
}

// handle handles an update. It fails only if the update has to be handled again.
func (b *Bot) handle(ctx context.Context, u *update) error {
	switch {
	case u.Callback != nil:
		text, err := b.press(ctx, u.Callback)
		if err == nil {
			b.reply(ctx, "answerCallbackQuery", map[string]any{"callback_query_id": u.Callback.ID, "text": text, "show_alert": len(text) > 60})
		}
		return err
	case u.Message == nil || u.Message.From == nil || u.Message.From.IsBot:
		return nil
	case strings.HasPrefix(u.Message.Text, "/start"):
		text, err := b.link(ctx, u.Message)
		if err == nil && text != "" {
			b.say(ctx, u.Message, text)
		}
		return err
	case u.Message.ReplyTo != nil:
		text, err := b.answerText(ctx, u.Message)
		if err == nil && text != "" {
			b.say(ctx, u.Message, text)
		}
		return err
	default:
		return nil
	}
}

// say replies to a message.
func (b *Bot) say(ctx context.Context, to *chatMessage, text string) {
	b.reply(ctx, "sendMessage", map[string]any{
		"chat_id": to.Chat.ID, "text": text, "reply_parameters": map[string]any{"message_id": to.ID, "allow_sending_without_reply": true},
		"link_preview_options": map[string]bool{"is_disabled": true},
	})
}

// reply calls a method whose failure loses only a confirmation: the decision is stored.
func (b *Bot) reply(ctx context.Context, method string, params map[string]any) {
	if err := b.api.call(ctx, method, 0, params, nil); err != nil && ctx.Err() == nil {
		b.Log.Warn("a confirmation was not sent", "channel", b.Channel, "err", err)
	}
}

// link links the account of a message "/start CODE". In groups the bot ignores it, because everyone
// there can read the code.
func (b *Bot) link(ctx context.Context, m *chatMessage) (reply string, err error) {
	text := strings.TrimSpace(strings.TrimPrefix(m.Text, "/start"))
	if m.Chat.Type != "private" {
		return "", nil
	}
	if text == "" {
		return "This bot belongs to a Hookback hub. To link this account, open Notifications in the dashboard and choose Link Telegram.", nil
	}
	person, madeAt, ok := b.Codes.take(text, b.Clock())
	since, exists := b.Accounts.CreatedAt(person)
	if !ok || !exists || madeAt.Before(since) {
		return "This code is not valid. Codes work once, for ten minutes. Get a new one in the dashboard, under Notifications.", nil
	}
	if err := b.Store.LinkChatAccount(ctx, store.ChatAccount{
		Kind: Via, Account: strconv.FormatInt(m.From.ID, 10), Label: label(m.From), Person: person,
	}); err != nil {
		return "", err
	}
	return "This account is now linked to " + person + ". Your answers here count as theirs.", nil
}

// label returns the name of an account, for the list of linked accounts.
func label(u *user) string {
	name := u.FirstName
	if u.Username != "" {
		name = "@" + u.Username
	}
	if runes := []rune(name); len(runes) > 60 {
		name = string(runes[:60])
	}
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return -1
		}
		return r
	}, name)
}

// notLinked is the reply to an account that no person linked.
const notLinked = "This account is not linked to a person."

// identity returns the person who linked an account, with their present rights.
func (b *Bot) identity(ctx context.Context, from *user) (id auth.Identity, ok bool, err error) {
	account, err := b.Store.ChatAccount(ctx, Via, strconv.FormatInt(from.ID, 10))
	if errors.Is(err, schema.ErrNotFound) {
		return id, false, nil
	}
	if err != nil {
		return id, false, err
	}
	since, exists := b.Accounts.CreatedAt(account.Person)
	if !exists || account.LinkedAt.Before(since) {
		return id, false, nil // the name belongs to a later account, or the account was reset
	}
	id, ok = b.Accounts.IdentityOf(account.Person, Via)
	return id, ok, nil
}

const (
	foreignButton = "This button does not belong to this hub any more. Answer in the dashboard."
	changed       = "The request has changed since this message. Answer in the dashboard."
	usedButton    = "You have used this button. Change your answer in the dashboard."
	noTextAnswer  = "This request can't be answered by a message. Answer in the dashboard."
)

// press handles a press of a button and returns the text for the person.
func (b *Bot) press(ctx context.Context, c *callbackQuery) (shown string, err error) {
	p, ok := buttons.Parse(c.Data)
	if !ok {
		return foreignButton, nil
	}
	q, err := b.read(ctx, p.Question)
	if err != nil || q == nil {
		return foreignButton, err
	}
	if !b.signer.Signed(c.Data, p, q.UID) {
		return foreignButton, nil
	}
	by, ok, err := b.identity(ctx, &c.From)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return notLinked, nil
	}
	return b.decide(ctx, q, p, by, func(offer *buttons.Offer) *schema.Response {
		for _, offered := range offer.Buttons {
			if offered.Answer == p.Answer {
				r, _ := q.Response(p.Answer, p.Revision)
				return r
			}
		}
		return nil
	})
}

// answerText handles a reply to a message of the bot, and returns the bot's own reply; empty: none.
func (b *Bot) answerText(ctx context.Context, m *chatMessage) (reply string, err error) {
	sent, err := b.Store.ChatMessage(ctx, b.Channel, strconv.FormatInt(m.Chat.ID, 10), strconv.FormatInt(m.ReplyTo.ID, 10))
	if errors.Is(err, schema.ErrNotFound) {
		return "", nil // not about a question
	}
	if err != nil {
		return "", err
	}
	by, ok, err := b.identity(ctx, m.From)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return notLinked, nil
	case m.Text == "":
		return noTextAnswer, nil
	}
	q, err := b.read(ctx, sent.Question)
	if err != nil || q == nil {
		return "", err
	}
	p := buttons.Press{Notice: sent.Notice, Question: sent.Question, Revision: sent.Revision}
	return b.decide(ctx, q, p, by, func(offer *buttons.Offer) *schema.Response {
		if !offer.CanReply {
			return nil
		}
		return &schema.Response{Response: &m.Text, Revision: sent.Revision}
	})
}

// read reads a question; nil: it was removed by retention.
func (b *Bot) read(ctx context.Context, id schema.EventID) (*buttons.Question, error) {
	stored, err := b.Store.Question(ctx, id)
	if errors.Is(err, schema.ErrNotFound) || errors.Is(err, schema.ErrNoQuestion) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, err
	}
	return buttons.Read(stored)
}

func (b *Bot) limits() buttons.Limits {
	return buttons.Limits{MaxChars: MaxChars, Threshold: b.Accounts.PasskeyThreshold(), IsBrief: b.IsBrief}
}

// decide answers a question with the response that response returns for the present offer, and
// returns the text for the person. The offer is computed again, because risk, call and settings can
// have changed since the message was sent.
func (b *Bot) decide(ctx context.Context, q *buttons.Question, p buttons.Press, by auth.Identity, response func(*buttons.Offer) *schema.Response) (shown string, err error) {
	if q.Status.IsSettled() {
		return "Already " + buttons.Outcome(&q.Status) + ".", nil
	}
	if q.ContentRevision() > p.Revision {
		return changed, nil
	}
	offer := buttons.OfferFor(q, b.limits())
	if offer.Refused != "" {
		return "Answer in the dashboard: " + offer.Refused + ".", nil
	}
	r := response(&offer)
	if r == nil {
		return noTextAnswer, nil
	}
	use := b.signer.Use(p, q.UID, by.Name)
	used, err := b.Store.IsLinkUsed(ctx, q.ID, use)
	if err != nil {
		return "", err
	}
	if used {
		return usedButton, nil
	}
	if err := b.Hub.RespondAs(ctx, q.ID, r, by); err != nil {
		return b.refused(ctx, q.ID, err)
	}
	if err := b.Store.UseLink(context.WithoutCancel(ctx), q.ID, use); err != nil {
		return "", err
	}
	now, err := b.read(ctx, q.ID)
	switch {
	case err != nil || now == nil || now.Status.IsSettled():
		return "Your answer is stored.", nil //nolint:nilerr // it is stored
	default:
		return "Your vote is stored. The request needs more votes.", nil
	}
}

// refused returns the text for a person whose answer the hub refused. It fails if the answer should be
// tried again.
func (b *Bot) refused(ctx context.Context, id schema.EventID, err error) (shown string, again error) {
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
		b.Log.Warn("an answer from telegram was refused", "channel", b.Channel, "question", id, "err", err)
		return "Nothing was decided. Answer in the dashboard.", nil
	}
}
