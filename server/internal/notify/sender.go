package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/store"
)

// sender sends messages by one channel and redacts its secrets from errors.
type sender struct {
	send      func(context.Context, *message) error
	redactor  secretRedactor
	perPerson bool // a message reaches one person only, so it may contain a signed link
	createdBy string
	createdAt time.Time
}

// maySendLinks reports whether messages to a person may contain a signed link. The server of the channel
// reads links that answer in the person's name, so only the owner chooses it, or an admin for
// their own channel. Another admin could answer for everyone.
func (n *Notifier) maySendLinks(s *sender, person string) bool {
	creator, known := n.identityOf(s.createdBy)
	if !s.perPerson || !known || s.createdAt.Before(n.createdAt(s.createdBy)) {
		return false
	}
	return creator.Owner || creator.HasRole(schema.Admin) && creator.Name == person
}

func (s *sender) errorText(err error) string { return s.redactor.redact(err) }

// openSender returns the sender of a channel; 0 is Web Push.
func (n *Notifier) openSender(ctx context.Context, id int64) (*sender, error) {
	if id == 0 {
		return &sender{send: n.sendPush}, nil
	}
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		return nil, err
	}
	for i := range channels {
		if channels[i].ID == id {
			return n.newSender(&channels[i]), nil
		}
	}
	return &sender{send: func(context.Context, *message) error { return permanentError{errors.New("the channel was removed")} }}, nil
}

func (n *Notifier) newSender(c *store.Channel) *sender {
	out := &sender{redactor: newSecretRedactor(c.URL, c.Secret), perPerson: SendsPerPerson(c), createdBy: c.CreatedBy, createdAt: c.CreatedAt}
	switch {
	case c.Kind == webhookName:
		out.send = func(ctx context.Context, m *message) error { return n.sendWebhook(ctx, c, m) }
	case c.Kind == smtpName:
		out.send = func(ctx context.Context, m *message) error { return n.sendMail(ctx, c, m) }
	case hasBot(c):
		out.send = func(ctx context.Context, m *message) error { return n.sendByBot(ctx, c, m) }
	default:
		out.send = func(ctx context.Context, m *message) error { return n.sendChat(ctx, c, m) }
	}
	if send := out.send; c.IsBrief {
		out.send = func(ctx context.Context, m *message) error { return send(ctx, m.brief()) }
	}
	return out
}

// checkResponse returns an error for a status other than 2xx. It is permanent unless a
// retry can help.
func checkResponse(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("the other side answered %s", resp.Status)
	case code >= 300 && code < 400:
		return permanentError{fmt.Errorf("the other side answered %s: redirects are not followed", resp.Status)}
	default:
		return permanentError{fmt.Errorf("the other side answered %s", resp.Status)}
	}
}

// SendTest sends a test message by a channel and returns its result. A failed send is a
// result, not an error. The result contains no text of the other side, so that a channel can't be
// used to read the answers of a server in the hub's network; the log has it.
func (n *Notifier) SendTest(ctx context.Context, id int64, person string) (schema.ChannelTestResult, error) {
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		return schema.ChannelTestResult{}, err
	}
	for i := range channels {
		if c := &channels[i]; c.ID == id {
			m := n.testMessage(person)
			m.email = n.emailOf(ctx, person)
			out := n.newSender(c)
			if err := n.worker(id).sendWithTimeout(ctx, out, m); err != nil {
				n.Log.Warn("channel test failed", "channel", id, "err", out.errorText(err))
				return schema.ChannelTestResult{State: schema.NotificationFailed, Error: failureSummary(err)}, nil
			}
			return schema.ChannelTestResult{State: schema.NotificationSent}, nil
		}
	}
	return schema.ChannelTestResult{}, schema.ErrNotFound
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

func (n *Notifier) emailOf(ctx context.Context, person string) string {
	for _, p := range n.Accounts.Accounts(ctx) {
		if p.Name == person {
			return p.Email
		}
	}
	return ""
}

// AddChannel stores a channel and starts its worker. It refuses an address that the hub may not
// connect to.
func (n *Notifier) AddChannel(ctx context.Context, c *store.Channel) error {
	if err := n.checkAddress(c); err != nil {
		return &schema.HintError{
			Err:  &schema.FieldError{Field: "url", Detail: "can't be used: " + err.Error()},
			Hint: "No channel was added. Start the hub with -notify-allow HOST to allow this address.",
		}
	}
	if err := n.addRecipient(ctx, func() error { return n.Store.AddChannel(ctx, c, MaxChannels) }); err != nil {
		return err
	}
	n.startChannel(c)
	return nil
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
