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
)

// announce notifies people of a change of an account, through every channel that reaches one of them.
// It does not block.
func (n *Notifier) announce(ctx context.Context, a auth.Announcement) {
	r, err := n.loadRecipients(ctx)
	if err != nil {
		n.Log.Error("account change not announced", "person", a.Change.Person, "err", err)
		return
	}
	for _, w := range r.channels {
		for _, name := range w.readers(a.To) {
			n.sendTo(ctx, w, n.accountMessage(name, a.Change))
		}
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

// sendTo sends a message to a person through a channel. A message that can't be sent is logged and not
// sent again: the dashboard shows its subject, too.
func (n *Notifier) sendTo(ctx context.Context, w *channelWorker, m *message) {
	if m.email = n.emailOf(ctx, m.person); m.email == "" && w.perPerson {
		return
	}
	if err := w.sendWithTimeout(ctx, m); err != nil && ctx.Err() == nil {
		n.Log.Warn("announcement not sent", "about", m.headline(), "channel", w.channel.ID, "err", w.redactor.redact(err))
	}
}

func (k *core) accountMessage(person string, change schema.AccountChange) *message {
	text := fmt.Sprintf("%s reset the account of %s. Its sign-ins, tokens and passkeys have ended.", change.By, change.Person)
	if change.Change == "promoted" {
		text = fmt.Sprintf("%s made %s an admin.", change.By, change.Person)
	}
	m := &message{
		createdAt: k.Clock(), kind: schema.NotificationCreated, person: person, isAccount: true,
		text: text + " If you did not expect this, check the audit log.",
	}
	m.url, m.onlyOn = k.linkTo("/")
	return m
}

// announceAlert notifies operators of a new alert, through every channel and browser, within their
// quiet hours and cooldown.
func (n *Notifier) announceAlert(ctx context.Context, a control.Alert) {
	r, err := n.loadRecipients(ctx)
	if err != nil {
		n.Log.Error("alert not announced", "alert", a.ID, "err", err)
		return
	}
	operators := func(people []string) []string {
		return slices.DeleteFunc(people, func(person string) bool {
			identity, known := n.identityOf(person)
			return !known || !identity.HasRole(schema.Operator)
		})
	}
	people := operators(slices.Collect(maps.Keys(r.people)))
	for _, w := range r.channels {
		n.sendAlerts(ctx, w, w.readers(people), a)
	}
	n.sendAlerts(ctx, n.worker(&pushChannel), operators(slices.Collect(maps.Keys(r.pushSubscribers))), a)
}

// sendAlerts sends an alert to each of the people through a channel. It does not block. A channel sends
// one alert at a time: it would refuse several at once.
func (n *Notifier) sendAlerts(ctx context.Context, w *channelWorker, people []string, a control.Alert) {
	n.group.Go(func() {
		w.announcing.Lock()
		defer w.announcing.Unlock()
		for _, person := range people {
			n.sendAlert(ctx, w, person, a)
		}
	})
}

// sendAlert sends an alert through a channel, or through Web Push for the channel 0. Messages about
// requests have another cooldown.
func (n *Notifier) sendAlert(ctx context.Context, w *channelWorker, person string, a control.Alert) {
	settings, err := n.Store.NotificationSettings(ctx, person)
	now := n.Clock()
	last, sent := w.alerted[person]
	if err == nil && (inQuietHours(&settings, now) || sent && now.Sub(last) < time.Duration(settings.CooldownMinutes)*time.Minute) {
		return
	}
	w.alerted[person] = now
	n.sendTo(ctx, w, n.alertMessage(person, a))
}

func (k *core) alertMessage(person string, a control.Alert) *message {
	m := &message{
		createdAt: k.Clock(), kind: schema.NotificationCreated, person: person, isAlert: true,
		app: cmp.Or(a.SourceApp, a.Person), session: a.SessionID, text: a.Evidence,
	}
	m.url, m.onlyOn = k.linkTo("/")
	return m
}
