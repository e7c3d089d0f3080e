package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// way is how one channel sends, and how its failures may be told.
type way struct {
	send   func(context.Context, *message) error
	secret scrubber
	apart  bool // each person at their own address: what is sent can be in their name
}

func (w *way) scrub(err error) string { return w.secret.text(err) }

// open makes the way of a channel, 0 for Web Push.
func (n *Notifier) open(ctx context.Context, id int64) (*way, error) {
	if id == 0 {
		return &way{send: n.sendPush}, nil
	}
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		return nil, err
	}
	for i := range channels {
		if channels[i].ID == id {
			return n.wayOf(&channels[i]), nil
		}
	}
	return &way{send: func(context.Context, *message) error { return finalError{errors.New("the channel was removed")} }}, nil
}

func (n *Notifier) wayOf(c *store.Channel) *way {
	w := &way{secret: newScrubber(c.URL, c.Secret), apart: writesApart(c)}
	switch c.Kind {
	case webhookName:
		w.send = func(ctx context.Context, m *message) error { return n.sendWebhook(ctx, c, m) }
	case smtpName:
		w.send = func(ctx context.Context, m *message) error { return n.sendMail(ctx, c, m) }
	case "telegram":
		w.send = func(ctx context.Context, m *message) error { return n.sendTelegram(ctx, c, m) }
	default:
		w.send = func(_ context.Context, m *message) error { return sendChat(c, m) }
	}
	return w
}

// client follows no redirect: a message goes where it was addressed to, or nowhere.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 32, IdleConnTimeout: 30 * time.Second},
}

// answered judges the status of an answer over HTTP.
func answered(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("the other side answered %s", resp.Status)
	case code >= 300 && code < 400:
		return finalError{fmt.Errorf("the other side answered %s: redirects are not followed", resp.Status)}
	default:
		return finalError{fmt.Errorf("the other side answered %s", resp.Status)}
	}
}

// SendTest sends a message by a channel to see what becomes of it.
func (n *Notifier) SendTest(ctx context.Context, id int64, person string) (schema.ChannelTestResult, error) {
	channels, err := n.Store.Channels(ctx)
	if err != nil {
		return schema.ChannelTestResult{}, err
	}
	for i := range channels {
		if c := &channels[i]; c.ID == id {
			m := n.trial(person)
			if m.email, err = n.email(ctx, person); err != nil {
				return schema.ChannelTestResult{}, err
			}
			w := n.wayOf(c)
			if err := n.lane(id).try(ctx, w, m); err != nil {
				return schema.ChannelTestResult{State: schema.NotificationFailed, Error: w.scrub(err)}, nil
			}
			return schema.ChannelTestResult{State: schema.NotificationSent}, nil
		}
	}
	return schema.ChannelTestResult{}, schema.ErrNotFound
}

func (n *Notifier) email(ctx context.Context, person string) (string, error) {
	people, err := n.People(ctx)
	for i := range people {
		if people[i].Name == person {
			return people[i].Email, err
		}
	}
	return "", err
}

// AddChannel makes a channel and begins to send by it.
func (n *Notifier) AddChannel(ctx context.Context, c *store.Channel) error {
	if err := n.Store.AddChannel(ctx, c, MaxChannels); err != nil {
		return err
	}
	n.lane(c.ID)
	return nil
}

// RemoveChannel removes a channel; what it had still to send has failed.
func (n *Notifier) RemoveChannel(ctx context.Context, id int64, by string) error {
	questions, err := n.Store.RemoveChannel(ctx, id, by)
	if err != nil {
		return err
	}
	n.close(id)
	for _, q := range questions {
		n.shown.touch(q)
	}
	return nil
}
