package notify

import (
	"context"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

// announce notifies people of a change of an account, through every channel that reaches one of them.
// It does not block. A message that can't be sent is logged and not sent again: the dashboard shows
// the change, too.
func (n *Notifier) announce(a auth.Announcement) {
	names, change := a.To, a.Change
	n.mu.Lock()
	ctx := n.runCtx
	n.mu.Unlock()
	if ctx == nil || ctx.Err() != nil {
		return
	}
	n.group.Go(func() {
		channels, err := n.Store.Channels(ctx)
		if err != nil {
			n.Log.Error("account change not announced", "person", change.Person, "err", err)
			return
		}
		for i := range channels {
			n.announceThrough(ctx, &channels[i], names, change)
		}
	})
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
