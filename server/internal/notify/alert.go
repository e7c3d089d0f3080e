package notify

import (
	"cmp"
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// announceAlert notifies operators of a new alert, through every channel and browser, within their
// quiet hours and cooldown. It does not block. As with a change of an account, a message that can't be
// sent is logged and not sent again: the inbox shows the alert, too.
func (n *Notifier) announceAlert(a control.Alert) {
	n.mu.Lock()
	ctx := n.runCtx
	n.mu.Unlock()
	if ctx == nil || ctx.Err() != nil {
		return
	}
	n.group.Go(func() {
		r, err := n.loadRecipients(ctx)
		if err != nil {
			n.Log.Error("alert not announced", "alert", a.ID, "err", err)
			return
		}
		for i := range r.channels {
			for _, person := range n.readersOf(r, &r.channels[i]) {
				n.sendAlert(ctx, &r.channels[i], person, a)
			}
		}
		for person := range r.pushSubscribers {
			if n.isOperator(person) {
				n.sendAlert(ctx, &store.Channel{}, person, a)
			}
		}
	})
}

func (n *Notifier) isOperator(person string) bool {
	identity, known := n.identityOf(person)
	return known && identity.HasRole(schema.Operator)
}

// readersOf returns the people who get a message of their own through a channel; "" stands for all
// readers of a shared one.
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

// sendAlert sends an alert through a channel, or through Web Push for the channel 0.
func (n *Notifier) sendAlert(ctx context.Context, c *store.Channel, person string, a control.Alert) {
	settings, err := n.Store.NotificationSettings(ctx, person)
	if err == nil && (inQuietHours(&settings, n.Clock()) || !n.passesCooldown(c.ID, person, settings.CooldownMinutes)) {
		return
	}
	out, err := n.openSender(ctx, c.ID)
	if err == nil {
		m := n.alertMessage(person, a)
		if m.email = n.emailOf(ctx, person); m.email == "" && SendsPerPerson(c) {
			return
		}
		err = n.worker(c.ID).sendWithTimeout(ctx, out, m)
	}
	if err != nil && ctx.Err() == nil {
		n.Log.Warn("alert not announced", "alert", a.ID, "channel", c.ID, "err", out.errorText(err))
	}
}

// alertReader is a person at a channel.
type alertReader struct {
	channel int64
	person  string
}

// passesCooldown reports whether the last alert to that person at that channel was sent long enough ago,
// and records this one. Messages about requests have a cooldown of their own.
func (n *Notifier) passesCooldown(channel int64, person string, minutes int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	key, now := alertReader{channel, person}, n.Clock()
	if last, sent := n.alerted[key]; sent && now.Sub(last) < time.Duration(minutes)*time.Minute {
		return false
	}
	n.alerted[key] = now
	return true
}

func (n *Notifier) alertMessage(person string, a control.Alert) *message {
	m := &message{
		createdAt: n.Clock(), kind: schema.NotificationCreated, person: person, isAlert: true,
		app: cmp.Or(a.SourceApp, a.Person), session: a.SessionID, text: a.Evidence,
	}
	m.url, m.onlyOn = n.linkTo("/")
	return m
}
