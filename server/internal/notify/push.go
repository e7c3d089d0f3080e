package notify

import (
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/netguard"
	"github.com/hookback/hookback/server/internal/notify/buttons"
)

const (
	// maxBrowsers limits the browsers per person.
	maxBrowsers = 20
	// maxTTL limits how long a push service keeps a message for an offline browser.
	maxTTL = 7 * 24 * time.Hour
	// clearTTL is how long it keeps a message that clears a notification.
	clearTTL = time.Hour
	// maxPushText is the number of characters that a browser's notification shows after it is expanded, and
	// maxPushBytes their limit in a message of 4 KiB.
	maxPushText, maxPushBytes = 1500, 2500
	// projectURL is the VAPID subject of a hub without a public address.
	projectURL = "https://github.com/hookback/hookback"
)

// PushKey returns the hub's public VAPID key. The first call creates it.
func (n *Notifier) PushKey(ctx context.Context) (string, error) {
	_, public, err := n.pushKeys(ctx)
	return public, err
}

func (n *Notifier) pushKeys(ctx context.Context) (private, public string, err error) {
	n.keyMu.Lock()
	defer n.keyMu.Unlock()
	private, public, err = n.Store.PushKeys(ctx)
	if err != nil || private != "" {
		return private, public, err
	}
	if private, public, err = webpush.GenerateVAPIDKeys(); err != nil {
		return "", "", err
	}
	if err := n.Store.SetPushKeys(ctx, private, public); err != nil {
		return "", "", err
	}
	return n.Store.PushKeys(ctx)
}

// Subscribe stores a Web Push subscription of a person's browser. It rejects addresses in
// private networks (SSRF).
func (n *Notifier) Subscribe(ctx context.Context, person string, b schema.PushSubscription) error {
	u, err := url.Parse(b.Endpoint)
	if err != nil || u.Host == "" || len(b.Endpoint) > 2048 || u.Scheme != "https" && !(n.PushAnywhere && u.Scheme == "http") {
		return &schema.FieldError{Field: "endpoint", Detail: "must be the https address of the browser's subscription"}
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !n.PushAnywhere && !netguard.IsPublic(ip) ||
		isLoopback(u.Hostname()) && !n.PushAnywhere {
		return &schema.FieldError{Field: "endpoint", Detail: "must be a public push service, not an address in a private network"}
	}
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(b.Keys.P256dh, "="))
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return &schema.FieldError{Field: "keys.p256dh", Detail: "must be the key of the browser's subscription"}
	}
	if auth, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(b.Keys.Auth, "=")); err != nil || len(auth) != 16 {
		return &schema.FieldError{Field: "keys.auth", Detail: "must be the 16-byte secret of the browser's subscription"}
	}
	return n.addRecipient(ctx, func() error { return n.Store.AddPushSubscription(ctx, person, b, maxBrowsers) })
}

// sendPush sends a message to all browsers of a person. It succeeds if one of them accepts
// it. Subscriptions that are gone are removed.
func (n *Notifier) sendPush(ctx context.Context, m *message) error {
	ttl := maxTTL
	if !m.deadline.IsZero() {
		ttl = min(ttl, max(0, m.deadline.Sub(n.Clock())))
	}
	p := &pushMessage{
		PushMessage: schema.PushMessage{ID: m.question, Title: m.headline(), Tag: pushTag(m.question)}, ttl: ttl, urgency: webpush.UrgencyHigh,
	}
	if m.question != 0 {
		if err := n.offerAnswer(ctx, m.person, &p.PushMessage); err != nil {
			return err
		}
	}
	return n.push(ctx, m.person, p)
}

// offerAnswer adds the complete request and the token that answers it, if the person chose so and a
// button may decide the request. It leaves the message unchanged otherwise.
func (n *Notifier) offerAnswer(ctx context.Context, person string, m *schema.PushMessage) error {
	settings, err := n.Store.NotificationSettings(ctx, person)
	if err != nil || !settings.AnswerByPush {
		return err
	}
	q, err := n.readQuestion(ctx, m.ID)
	if err != nil {
		return err
	}
	offer := buttons.OfferFor(&buttons.Question{Question: q.Question, Ask: q.hitl, Status: q.status}, buttons.Limits{
		MaxChars: maxPushText, Threshold: n.Accounts.PasskeyThreshold(),
	})
	if q.hitl.Type != schema.Permission || offer.Text == "" || len(offer.Text) > maxPushBytes {
		return nil
	}
	m.Token, _, err = n.linkToken(q, person, true)
	if m.Token != "" {
		m.Text = offer.Text
	}
	return err
}

// pushTag returns the tag and topic of a question's messages. A new message replaces the
// previous one in the browser and at the push service.
func pushTag(id schema.EventID) string { return "request-" + id.String() }

// pushMessage is a Web Push message.
type pushMessage struct {
	schema.PushMessage
	ttl     time.Duration
	urgency webpush.Urgency
}

var errNoBrowser = permanentError{errors.New("no subscribed browser is left")}

func (n *Notifier) push(ctx context.Context, person string, p *pushMessage) error {
	browsers, err := n.Store.PushSubscriptions(ctx, person)
	if err != nil {
		return err
	}
	private, public, err := n.pushKeys(ctx)
	if err != nil {
		return err
	}
	if identity, known := n.identityOf(person); known && n.Needs != nil {
		if count, err := n.Needs.NeedsYou(ctx, identity); err == nil { // else the badge stays
			p.NeedsYou = &count
		}
	}
	body, err := json.Marshal(p.PushMessage)
	if err != nil {
		return permanentError{err}
	}
	lastErr, sent := error(errNoBrowser), 0
	for _, b := range browsers {
		resp, err := webpush.SendNotificationWithContext(ctx, body, &webpush.Subscription{
			Endpoint: b.Endpoint, Keys: webpush.Keys{Auth: b.Keys.Auth, P256dh: b.Keys.P256dh},
		}, &webpush.Options{
			HTTPClient: n.pushClient(), Subscriber: n.vapidSubject(), Topic: p.Tag, TTL: int(p.ttl.Seconds()), Urgency: p.urgency,
			VAPIDPublicKey: public, VAPIDPrivateKey: private,
		})
		if err == nil {
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
			_ = resp.Body.Close()
			err = checkResponse(resp)
			if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone {
				if err := n.Store.RemovePushSubscription(ctx, b.Endpoint); err != nil {
					return err
				}
				continue
			}
		}
		if err == nil {
			sent++
			continue
		}
		lastErr = err
	}
	if sent > 0 {
		return nil
	}
	return lastErr
}

func (n *Notifier) vapidSubject() string {
	if base, _, _ := n.Reach.Links(); strings.HasPrefix(base, "https://") {
		return base
	}
	return projectURL
}

// clearNotification clears the notifications of a settled question in browsers. It is best
// effort: failures are neither retried nor recorded.
func (n *Notifier) clearNotification(id schema.EventID) {
	n.mu.Lock()
	parent := n.runCtx
	n.mu.Unlock()
	if parent == nil {
		return
	}
	n.group.Go(func() {
		ctx, cancel := context.WithTimeout(parent, n.timing.timeout)
		defer cancel()
		notifications, err := n.Store.NotificationsOf(ctx, id)
		if err != nil {
			return
		}
		cleared := map[string]bool{}
		for i := range notifications {
			notification := &notifications[i]
			if notification.Channel != 0 || notification.State != schema.NotificationSent || cleared[notification.Person] {
				continue
			}
			cleared[notification.Person] = true
			_ = n.push(ctx, notification.Person, &pushMessage{
				PushMessage: schema.PushMessage{ID: id, Title: "This request is closed.", Tag: pushTag(id), Settled: true}, ttl: clearTTL, urgency: webpush.UrgencyNormal,
			})
		}
	})
}

// pushClient returns a client that does not connect to this machine or private networks
// (SSRF protection), because any person may subscribe an address.
func (n *Notifier) pushClient() *http.Client {
	if n.PushAnywhere {
		return n.client
	}
	return n.publicOnly
}
