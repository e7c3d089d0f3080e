package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/chat"
	"github.com/hookback/hookback/server/internal/notify/slack"
	"github.com/hookback/hookback/server/internal/notify/telegram"
	"github.com/hookback/hookback/server/internal/store"
)

// hasBot reports whether a channel sends by a bot that takes answers.
func hasBot(c *store.Channel) bool {
	return c.Kind == telegram.Via || c.Kind == slack.Via && slack.HasSocket(c.URL)
}

// newBot returns the bot of a channel, and the token that must not be used twice.
func (n *Notifier) newBot(c *store.Channel) (bot *chat.Bot, token string, err error) {
	config := chat.Config{
		Channel: c.ID, IsBrief: c.IsBrief, Store: n.Store, Hub: n.hub, Accounts: n.Accounts, Feed: n.Feed, Codes: n.codes,
		Key: n.Store.Identity().Subkey("chat buttons"), Clock: n.Clock, Log: n.Log,
	}
	if c.Kind == slack.Via {
		address, err := slack.ParseAddress(c.URL)
		b := slack.New(slack.Config{Config: config, Address: address, HTTP: n.client, API: n.slackURL})
		return &chat.Bot{Desk: b.Desk, Service: b}, address.AppToken, err
	}
	address, err := telegram.ParseAddress(c.URL)
	api := n.telegramURL
	if address.Server != nil {
		api = address.Server.String()
	}
	b := telegram.New(telegram.Config{Config: config, Token: address.Token, Chats: address.Chats, Silent: address.Silent, HTTP: n.client, API: api})
	if address.Server != nil && !n.madeByOwner(c) { // it could press a button in the name of any linked account
		b.Stop("The hub takes answers from a private Bot API server only for the owner, who adds the channel.")
	}
	return &chat.Bot{Desk: b.Desk, Service: b}, address.Token, err
}

// bot returns the bot of a channel. The first call starts it, if the notifier runs.
func (n *Notifier) bot(c *store.Channel) (*chat.Bot, error) {
	w := n.worker(c.ID)
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.bot != nil {
		return w.bot, nil
	}
	bot, token, err := n.newBot(c)
	if err != nil {
		return nil, permanentError{errors.New("the address of the channel is no longer valid")}
	}
	for _, other := range n.workers {
		if other.bot != nil && token != "" && other.botToken == token {
			bot.Stop("Another channel has the same bot, and takes its answers.")
		}
	}
	if n.runCtx == nil || n.workers[c.ID] != w {
		return bot, nil // not started, or the channel was removed
	}
	w.bot, w.botToken = bot, token
	ctx, stop := context.WithCancel(n.runCtx)
	stopWorker := w.stop
	w.stop = func() { stop(); stopWorker() }
	n.group.Go(func() {
		if err := bot.Run(ctx); err != nil {
			n.Log.Error("answers from a chat stopped", "channel", c.ID, "err", err)
		}
	})
	return bot, nil
}

// madeByOwner reports whether the present owner of the hub added a channel.
func (n *Notifier) madeByOwner(c *store.Channel) bool {
	creator, known := n.identityOf(c.CreatedBy)
	return known && creator.Owner && !c.CreatedAt.Before(n.createdAt(c.CreatedBy))
}

// startChannel starts the worker of a channel, and its bot.
func (n *Notifier) startChannel(c *store.Channel) {
	n.worker(c.ID)
	if !hasBot(c) {
		return
	}
	if _, err := n.bot(c); err != nil {
		n.Log.Error("a bot was not started", "channel", c.ID, "err", err)
	}
}

// sendByBot sends a message by a bot. A request has buttons if it may be answered by one.
func (n *Notifier) sendByBot(ctx context.Context, c *store.Channel, m *message) error {
	bot, err := n.bot(c)
	if err != nil {
		return err
	}
	if m.question == 0 {
		err = bot.SendText(ctx, m.plain(verbatim, maxBodyChars))
	} else {
		err = n.sendRequest(ctx, bot, m)
	}
	if chat.IsPermanent(err) {
		return permanentError{err}
	}
	return err
}

func (n *Notifier) sendRequest(ctx context.Context, bot *chat.Bot, m *message) error {
	stored, err := n.Store.Question(ctx, m.question)
	if err != nil {
		return err
	}
	q, err := buttons.Read(stored)
	if err != nil {
		return err
	}
	out := chat.Message{
		Notice: m.id, Question: q, Headline: m.headline(), Footer: strings.TrimSpace(m.footer(verbatim)),
		Plain: m.plain(verbatim, maxBodyChars),
	}
	if m.onlyOn == "" {
		out.Link = m.url
	}
	return bot.Send(ctx, &out)
}

// NewChatCode returns a code with which a person links a chat account, once.
func (n *Notifier) NewChatCode(ctx context.Context, person string) (schema.ChatCode, error) {
	code, expires, err := n.codes.New(ctx, person, n.Clock())
	return schema.ChatCode{Code: code, ExpiresAt: schema.Millis(expires.UnixMilli()), Bots: n.bots()}, err
}

// bots returns the bots that take answers, sorted.
func (n *Notifier) bots() []schema.ChatBot {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []schema.ChatBot{}
	for _, w := range n.workers {
		if w.bot != nil && w.bot.Stopped() == "" && w.bot.Name() != "" {
			list = append(list, schema.ChatBot{Kind: w.bot.Kind(), Name: w.bot.Name()})
		}
	}
	slices.SortFunc(list, func(a, b schema.ChatBot) int {
		return cmp.Or(strings.Compare(b.Kind, a.Kind), strings.Compare(a.Name, b.Name))
	})
	return list
}

// ChatAccounts returns the chat accounts of a person, and the bots of the hub.
func (n *Notifier) ChatAccounts(ctx context.Context, person string) (schema.ChatAccounts, error) {
	stored, err := n.Store.ChatAccounts(ctx, person)
	if err != nil {
		return schema.ChatAccounts{}, err
	}
	out := schema.ChatAccounts{Accounts: []schema.ChatAccount{}, Bots: n.bots()}
	since, _ := n.Accounts.CreatedAt(person)
	for _, a := range stored {
		if !a.LinkedAt.Before(since) { // else it is of an earlier account of the same name
			out.Accounts = append(out.Accounts, schema.ChatAccount{
				Kind: a.Kind, Account: a.Account, Label: a.Label, LinkedAt: schema.Millis(a.LinkedAt.UnixMilli()),
			})
		}
	}
	return out, nil
}
