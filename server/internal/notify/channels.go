package notify

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/store"
)

// MaxChannels limits the channels of a hub, because each has its own goroutines.
const MaxChannels = 50

// worker returns the worker of a channel; one that is not started if none runs.
func (n *Notifier) worker(c *store.Channel) *channelWorker {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.workers[c.ID]; w != nil {
		return w
	}
	return newChannelWorker(n.open(c, n.hub), n.statuses)
}

// startWorker starts the worker of a channel and its bot, if the notifier runs and has none.
func (n *Notifier) startWorker(c *store.Channel) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runCtx == nil || n.workers[c.ID] != nil {
		return
	}
	w := newChannelWorker(n.open(c, n.hub), n.statuses)
	for _, other := range n.workers {
		if w.bot != nil && other.bot != nil && other.token == w.token {
			w.bot.Stop("Another channel has the same bot, and takes its answers.")
		}
	}
	n.workers[c.ID] = w
	var ctx context.Context
	ctx, w.stop = context.WithCancel(n.runCtx)
	n.group.Go(func() { w.run(ctx) })
	if w.bot == nil {
		return
	}
	n.group.Go(func() {
		if err := w.bot.Run(ctx); err != nil {
			n.Log.Error("answers from a chat stopped", "channel", c.ID, "err", err)
		}
	})
}

// stopWorker stops the worker of a removed channel.
func (n *Notifier) stopWorker(channel int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.workers[channel]; w != nil {
		w.stop()
		delete(n.workers, channel)
	}
}

// wakeWorkers wakes the workers of due notifications. A worker that starts later reads them itself.
func (n *Notifier) wakeWorkers(due []store.Notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range due {
		if w := n.workers[due[i].Channel]; w != nil {
			w.due.Wake()
		}
	}
}

// AddChannel stores a channel and starts its worker. It refuses an address that the hub may not
// connect to.
func (n *Notifier) AddChannel(ctx context.Context, c *store.Channel) error {
	t, err := parseAddress(c)
	if err == nil {
		err = t.check(n.Guard)
	}
	if err != nil {
		return &schema.HintError{
			Err:  &schema.FieldError{Field: "url", Detail: "can't be used: " + err.Error()},
			Hint: "No channel was added. Start the hub with -notify-allow HOST to allow this address.",
		}
	}
	if err := n.addRecipient(ctx, func() error { return n.Store.AddChannel(ctx, c, MaxChannels) }); err != nil {
		return err
	}
	n.startWorker(c)
	return nil
}

// Subscribe stores a Web Push subscription of a person's browser. It rejects addresses in
// private networks (SSRF).
func (n *Notifier) Subscribe(ctx context.Context, person string, b schema.PushSubscription) error {
	if err := n.checkSubscription(&b); err != nil {
		return err
	}
	return n.addRecipient(ctx, func() error { return n.Store.AddPushSubscription(ctx, person, b, maxBrowsers) })
}

// RemoveChannel removes a channel. Its queued notifications become failed.
func (n *Notifier) RemoveChannel(ctx context.Context, id int64, by string) error {
	questions, err := n.Store.RemoveChannel(ctx, id, by)
	if err != nil {
		return err
	}
	n.forgetChannels(store.AnonymousRemoval{Channels: []int64{id}, Questions: questions})
	return nil
}

// SetFilter replaces the filter of a channel, for the messages that are planned from now on.
func (n *Notifier) SetFilter(ctx context.Context, id int64, f schema.ChannelFilter, by string) error {
	if err := f.Validate(); err != nil {
		return err
	}
	return n.Store.SetChannelFilter(ctx, id, f, by)
}

// forgetChannels stops the workers of removed channels and updates the questions whose
// notifications can no longer be sent.
func (n *Notifier) forgetChannels(removed store.AnonymousRemoval) {
	for _, id := range removed.Channels {
		n.stopWorker(id)
	}
	for _, q := range removed.Questions {
		n.statuses.markChanged(q)
	}
}

// PublicChannel returns a channel without its secrets.
func (n *Notifier) PublicChannel(c *store.Channel) schema.Channel {
	public := schema.Channel{
		ID: c.ID, Name: c.Name, Kind: c.Kind, Address: publicAddress(c), Person: c.Person,
		CreatedAt: schema.Millis(c.CreatedAt.UnixMilli()), CreatedBy: c.CreatedBy,
	}
	if c.IsBrief {
		public.Detail = briefDetail
	}
	if !c.Filter.IsEmpty() {
		public.Filter = &c.Filter
	}
	n.mu.Lock()
	w := n.workers[c.ID]
	n.mu.Unlock()
	if w == nil {
		return public
	}
	if w.bot != nil {
		public.Bot, public.NoAnswers = w.bot.Name(), w.bot.Stopped()
	}
	if until := w.pausedUntil(); until.After(n.Clock()) {
		public.Paused = schema.Millis(until.UnixMilli())
	}
	return public
}

// SendTest sends a test message by a channel and returns its result. A failed send is a
// result, not an error. The result contains no text of the other side, so that a channel can't be
// used to read the answers of a server in the hub's network; the log has it.
func (n *Notifier) SendTest(ctx context.Context, id int64, person string) (schema.ChannelTestResult, error) {
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		return schema.ChannelTestResult{}, err
	}
	i := slices.IndexFunc(channels, func(c store.Channel) bool { return c.ID == id })
	if i < 0 {
		return schema.ChannelTestResult{}, schema.ErrNotFound
	}
	w := n.worker(&channels[i])
	if err := w.sendWithTimeout(ctx, n.testMessage(ctx, person)); err != nil {
		n.Log.Warn("channel test failed", "channel", id, "err", w.redactor.redact(err))
		return schema.ChannelTestResult{State: schema.NotificationFailed, Error: failureSummary(err)}, nil
	}
	return schema.ChannelTestResult{State: schema.NotificationSent}, nil
}

// failureSummary classifies a failed send in a fixed sentence.
func failureSummary(err error) string {
	var connection net.Error
	switch {
	case errors.Is(err, netguard.ErrRefused):
		return "Refused address: the hub may not connect there. Start it with -notify-allow to allow it."
	case errors.As(err, &connection), errors.Is(err, context.DeadlineExceeded):
		return "No connection: nothing answers at this address. The hub's log has details."
	default:
		return "Rejected: the service did not accept the message. The hub's log has details."
	}
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

// WithChats adds the kinds of chat accounts of the people whose contacts the caller may see.
// Without a notifier it returns the people unchanged.
func (n *Notifier) WithChats(ctx context.Context, people []schema.Person, seesContactsOf func(name string) bool) ([]schema.Person, error) {
	for i := range people {
		if n == nil || !seesContactsOf(people[i].Name) {
			continue
		}
		linked, err := n.ChatAccounts(ctx, people[i].Name)
		if err != nil {
			return nil, err
		}
		for _, account := range linked.Accounts {
			people[i].Chats = append(people[i].Chats, account.Kind)
		}
		people[i].Chats = slices.Compact(people[i].Chats) // the accounts are sorted by kind
	}
	return people, nil
}
