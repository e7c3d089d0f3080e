package notify

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/notify/telegram"
	"github.com/hookback/hookback/server/internal/store"
)

// telegramAddress is the content of a channel's address:
// telegram://TOKEN@telegram?chats=CHAT,… with notification=no for messages without a sound. A host
// other than telegram is a Bot API server of one's own, reached over https, or over http on loopback.
type telegramAddress struct {
	token  string
	chats  []string
	silent bool
	api    string // empty: Telegram's own
}

// botToken is the format of a token: the number of the bot and a secret.
var botToken = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]{35}$`)

func parseTelegramURL(address string) (a telegramAddress, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return a, errors.New("it is no address")
	}
	password, _ := u.User.Password()
	a.token = u.User.Username() + ":" + password
	if !botToken.MatchString(a.token) {
		return a, errors.New("the token of the bot is not valid")
	}
	for name, values := range u.Query() {
		value := values[len(values)-1]
		switch strings.ToLower(name) {
		case "chats", "channels":
			a.chats = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		case "notification":
			a.silent = value == "no" || value == "false" || value == "0"
		case "preview":
		default:
			return a, errors.New("it has an unknown setting " + singleLine(name, maxNameChars))
		}
	}
	if len(a.chats) == 0 {
		return a, errors.New("it names no chat: add ?chats=CHAT")
	}
	if u.Host != "telegram" {
		a.api = "https://" + u.Host
		if isLoopback(u.Hostname()) {
			a.api = "http://" + u.Host
		}
	}
	return a, nil
}

// apiURL is the base of a Bot API server of one's own; nil: Telegram's.
func (a *telegramAddress) apiURL() *url.URL {
	u, err := url.Parse(a.api)
	if err != nil || a.api == "" {
		return nil
	}
	return u
}

// bot returns the bot of a Telegram channel. The first call starts it, if the notifier runs.
func (n *Notifier) bot(c *store.Channel) (*telegram.Bot, error) {
	address, err := parseTelegramURL(c.URL)
	if err != nil {
		return nil, permanentError{errors.New("the address of the channel is no longer valid")}
	}
	w := n.worker(c.ID)
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.bot != nil {
		return w.bot, nil
	}
	ownServer := address.api != ""
	if !ownServer {
		address.api = n.telegramURL
	}
	bot := telegram.New(telegram.Config{
		Channel: c.ID, Token: address.token, Chats: address.chats, Silent: address.silent,
		Store: n.Store, Hub: n.Answers, Accounts: n.Accounts, Feed: n.Feed, Codes: n.codes, Key: n.Store.Identity().Subkey("chat buttons"),
		HTTP: n.client, API: address.api, Clock: n.Clock, Log: n.Log,
	})
	if ownServer && !n.madeByOwner(c) { // it could press a button in the name of any linked account
		bot.Stop("The hub takes answers from a Bot API server of one's own only for the owner, who adds the channel.")
	}
	for _, other := range n.workers {
		if other.bot != nil && other.bot.Token == address.token {
			bot.Stop("Another channel has the same bot, and takes its answers.")
		}
	}
	if n.runCtx == nil || n.workers[c.ID] != w {
		return bot, nil // not started, or the channel was removed
	}
	w.bot = bot
	ctx, stop := context.WithCancel(n.runCtx)
	stopWorker := w.stop
	w.stop = func() { stop(); stopWorker() }
	n.group.Go(func() {
		if err := bot.Run(ctx); err != nil {
			n.Log.Error("answers from telegram stopped", "channel", c.ID, "err", err)
		}
	})
	return bot, nil
}

// madeByOwner reports whether the present owner of the hub added a channel.
func (n *Notifier) madeByOwner(c *store.Channel) bool {
	creator, known := n.identityOf(c.CreatedBy)
	return known && creator.Owner && !c.CreatedAt.Before(n.createdAt(c.CreatedBy))
}

// OwnBotServer reports whether the messages of a channel go through a Bot API server of one's own.
func OwnBotServer(c *store.Channel) bool {
	address, err := parseTelegramURL(c.URL)
	return c.Kind == telegram.Via && err == nil && address.api != ""
}

// startChannel starts the worker of a channel, and its bot.
func (n *Notifier) startChannel(c *store.Channel) {
	n.worker(c.ID)
	if c.Kind != telegram.Via {
		return
	}
	if _, err := n.bot(c); err != nil {
		n.Log.Error("a bot was not started", "channel", c.ID, "err", err)
	}
}

// sendTelegram sends a message by a bot. A request has buttons if it may be answered by one.
func (n *Notifier) sendTelegram(ctx context.Context, c *store.Channel, m *message) error {
	bot, err := n.bot(c)
	if err != nil {
		return err
	}
	if m.question == 0 {
		err = bot.SendText(ctx, m.plain(verbatim))
	} else {
		err = n.sendRequest(ctx, bot, m)
	}
	if telegram.IsPermanent(err) {
		return permanentError{err}
	}
	return err
}

func (n *Notifier) sendRequest(ctx context.Context, bot *telegram.Bot, m *message) error {
	stored, err := n.Store.Question(ctx, m.question)
	if err != nil {
		return err
	}
	q, err := buttons.Read(stored)
	if err != nil {
		return err
	}
	return bot.Send(ctx, &telegram.Message{
		Notice: m.id, Question: q, Headline: m.headline(), Footer: strings.TrimSpace(m.footer(verbatim)), Plain: m.plain(verbatim),
	})
}

// NewChatCode returns a code with which a person links a chat account, once.
func (n *Notifier) NewChatCode(person string) schema.ChatCode {
	code, expires := n.codes.New(person, n.Clock())
	return schema.ChatCode{Code: code, ExpiresAt: schema.Millis(expires.UnixMilli()), Bots: n.botNames()}
}

// botNames returns the user names of the bots that take answers, sorted.
func (n *Notifier) botNames() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := []string{}
	for _, w := range n.workers {
		if w.bot != nil && w.bot.Stopped() == "" && w.bot.Name() != "" {
			names = append(names, w.bot.Name())
		}
	}
	slices.Sort(names)
	return names
}

// ChatAccounts returns the chat accounts of a person, and the bots of the hub.
func (n *Notifier) ChatAccounts(ctx context.Context, person string) (schema.ChatAccounts, error) {
	stored, err := n.Store.ChatAccounts(ctx, person)
	if err != nil {
		return schema.ChatAccounts{}, err
	}
	out := schema.ChatAccounts{Accounts: []schema.ChatAccount{}, Bots: n.botNames()}
	since, _ := n.Accounts.CreatedAt(person)
	for _, a := range stored {
		if !a.LinkedAt.Before(since) { // else it is of an earlier account of the same name
			out.Accounts = append(out.Accounts, schema.ChatAccount{Kind: a.Kind, Account: a.Account, Label: a.Label, LinkedAt: schema.Millis(a.LinkedAt.UnixMilli())})
		}
	}
	return out, nil
}
