package notify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// announce notifies people of a change of an account, through every channel that reaches one of them.
// It does not block. A message that can't be sent is logged and not sent again: the dashboard shows
// the change, too.
func (n *Notifier) announce(ctx context.Context, a auth.Announcement) {
	names, change := a.To, a.Change
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		n.Log.Error("account change not announced", "person", change.Person, "err", err)
		return
	}
	for i := range channels {
		n.announceThrough(ctx, &channels[i], names, change)
	}
}

// RunAnnouncements announces the changes of accounts that are made at this hub, until ctx ends. Every
// hub runs it.
func (n *Notifier) RunAnnouncements(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	_ = n.Feed.Follow(ctx, feed.Accounts, func(b *feed.Batch) error { // ends with ctx
		for _, fact := range b.Facts {
			if a, ok := fact.Note.(auth.Announcement); ok {
				group.Go(func() { n.announce(ctx, a) })
			}
		}
		return nil
	})
	return nil
}

// announceThrough sends one message per person, or one for all on a shared channel.
func (n *Notifier) announceThrough(ctx context.Context, c *store.Channel, names []string, change schema.AccountChange) {
	switch {
	case c.Person != "" && !slices.Contains(names, c.Person):
		return
	case c.Person != "":
		names = []string{c.Person}
	case !SendsPerPerson(c):
		names = []string{""}
	}
	out := n.newSender(c)
	for _, name := range names {
		m := n.accountMessage(name, change)
		if m.email = n.emailOf(ctx, name); m.email == "" && SendsPerPerson(c) {
			continue
		}
		if err := n.worker(c.ID).sendWithTimeout(ctx, out, m); err != nil {
			n.Log.Warn("account change not announced", "person", change.Person, "channel", c.ID, "err", out.errorText(err))
		}
	}
}

func (n *Notifier) accountMessage(person string, change schema.AccountChange) *message {
	text := fmt.Sprintf("%s reset the account of %s. Its sign-ins, tokens and passkeys have ended.", change.By, change.Person)
	if change.Change == "promoted" {
		text = fmt.Sprintf("%s made %s an admin.", change.By, change.Person)
	}
	m := &message{
		createdAt: n.Clock(), kind: schema.NotificationCreated, person: person, isAccount: true,
		text: text + " If you did not expect this, check the audit log.",
	}
	m.url, m.onlyOn = n.linkTo("/")
	return m
}

// announceAlert notifies operators of a new alert, through every channel and browser, within their
// quiet hours and cooldown. As with a change of an account, a message that can't be
// sent is logged and not sent again: the inbox shows the alert, too.
func (n *Notifier) announceAlert(ctx context.Context, a control.Alert) {
	r, err := n.loadRecipients(ctx)
	if err != nil {
		n.Log.Error("alert not announced", "alert", a.ID, "err", err)
		return
	}
	for i := range r.channels {
		n.sendAlerts(ctx, &r.channels[i], n.readersOf(r, &r.channels[i]), a)
	}
	n.sendAlerts(ctx, &store.Channel{}, slices.DeleteFunc(slices.Collect(maps.Keys(r.pushSubscribers)), func(person string) bool {
		return !n.isOperator(person)
	}), a)
}

// sendAlerts sends an alert to each of the people through a channel. It does not block. A channel sends
// one alert at a time: it would refuse several at once.
func (n *Notifier) sendAlerts(ctx context.Context, c *store.Channel, people []string, a control.Alert) {
	n.group.Go(func() {
		w := n.worker(c.ID)
		w.announcing.Lock()
		defer w.announcing.Unlock()
		for _, person := range people {
			n.sendAlert(ctx, w, c, person, a)
		}
	})
}

func (n *Notifier) isOperator(person string) bool {
	identity, known := n.identityOf(person)
	return known && identity.HasRole(schema.Operator)
}

// readersOf returns the people who each get a message through a channel; "" means all readers of a
// shared one.
func (n *Notifier) readersOf(r *recipients, c *store.Channel) (names []string) {
	switch {
	case c.Person != "" && n.isOperator(c.Person):
		return []string{c.Person}
	case c.Person != "":
		return nil
	case !SendsPerPerson(c):
		return []string{""}
	}
	for name := range r.people {
		if n.isOperator(name) {
			names = append(names, name)
		}
	}
	return names
}

// sendAlert sends an alert through a channel, or through Web Push for the channel 0. Messages about
// requests have another cooldown.
func (n *Notifier) sendAlert(ctx context.Context, w *channelWorker, c *store.Channel, person string, a control.Alert) {
	settings, err := n.Store.NotificationSettings(ctx, person)
	now := n.Clock()
	last, sent := w.alerted[person]
	if err == nil && (inQuietHours(&settings, now) || sent && now.Sub(last) < time.Duration(settings.CooldownMinutes)*time.Minute) {
		return
	}
	w.alerted[person] = now
	out, err := n.openSender(ctx, c.ID)
	if err == nil {
		m := n.alertMessage(person, a)
		if m.email = n.emailOf(ctx, person); m.email == "" && SendsPerPerson(c) {
			return
		}
		err = w.sendWithTimeout(ctx, out, m)
	}
	if err != nil && ctx.Err() == nil {
		n.Log.Warn("alert not announced", "alert", a.ID, "channel", c.ID, "err", out.errorText(err))
	}
}

func (n *Notifier) alertMessage(person string, a control.Alert) *message {
	m := &message{
		createdAt: n.Clock(), kind: schema.NotificationCreated, person: person, isAlert: true,
		app: cmp.Or(a.SourceApp, a.Person), session: a.SessionID, text: a.Evidence,
	}
	m.url, m.onlyOn = n.linkTo("/")
	return m
}
