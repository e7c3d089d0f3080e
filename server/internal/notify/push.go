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
	"github.com/hookback/hookback/server/internal/store"
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
func (k *core) PushKey(ctx context.Context) (string, error) {
	_, public, err := k.pushKeys(ctx)
	return public, err
}

func (k *core) pushKeys(ctx context.Context) (private, public string, err error) {
	k.keyMu.Lock()
	defer k.keyMu.Unlock()
	private, public, err = k.Store.PushKeys(ctx)
	if err != nil || private != "" {
		return private, public, err
	}
	if private, public, err = webpush.GenerateVAPIDKeys(); err != nil {
		return "", "", err
	}
	if err := k.Store.SetPushKeys(ctx, private, public); err != nil {
		return "", "", err
	}
	return k.Store.PushKeys(ctx)
}

func (k *core) checkSubscription(b *schema.PushSubscription) error {
	u, err := url.Parse(b.Endpoint)
	if err != nil || u.Host == "" || len(b.Endpoint) > 2048 || u.Scheme != "https" && !(k.PushAnywhere && u.Scheme == "http") {
		return &schema.FieldError{Field: "endpoint", Detail: "must be the https address of the browser's subscription"}
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !k.PushAnywhere && !netguard.IsPublic(ip) ||
		isLoopback(u.Hostname()) && !k.PushAnywhere {
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
	return nil
}

// pushDriver sends by Web Push to the browsers of people, which is no channel that a person adds.
type pushDriver struct {
	oneWay
	fixedHost
}

var (
	pushKind    = kind{name: "push", parse: func(string) (target, error) { return target{driver: pushDriver{}}, nil }}
	pushChannel = store.Channel{Name: pushKind.name, Kind: pushKind.name}
)

// send sends a message to all browsers of a person. It succeeds if one of them accepts
// it. Subscriptions that are gone are removed.
func (pushDriver) send(ctx context.Context, o *outlet, m *message) error {
	p := &pushMessage{PushMessage: schema.PushMessage{Title: m.headline()}, ttl: maxTTL, urgency: webpush.UrgencyHigh}
	if !m.deadline.IsZero() {
		p.ttl = min(maxTTL, max(0, m.deadline.Sub(o.Clock())))
	}
	if m.asked != nil {
		p.ID = m.asked.ID
		if err := o.offerAnswer(ctx, m, &p.PushMessage); err != nil {
			return err
		}
	}
	p.Tag = pushTag(p.ID)
	return o.push(ctx, m.person, p)
}

// offerAnswer adds the complete request and the token that answers it, if the person chose so and a
// button may decide the request. It leaves the message unchanged otherwise.
func (k *core) offerAnswer(ctx context.Context, m *message, p *schema.PushMessage) error {
	settings, err := k.Store.NotificationSettings(ctx, m.person)
	if err != nil || !settings.AnswerByPush {
		return err
	}
	offer := buttons.OfferFor(m.asked, buttons.Limits{MaxChars: maxPushText, Threshold: k.Accounts.PasskeyThreshold()})
	if m.asked.Ask.Type != schema.Permission || offer.Text == "" || len(offer.Text) > maxPushBytes {
		return nil
	}
	p.Token, _, err = k.linkToken(m.asked, m.person, true)
	if p.Token != "" {
		p.Text = offer.Text
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

func (k *core) push(ctx context.Context, person string, p *pushMessage) error {
	browsers, err := k.Store.PushSubscriptions(ctx, person)
	if err != nil {
		return err
	}
	private, public, err := k.pushKeys(ctx)
	if err != nil {
		return err
	}
	if identity, known := k.identityOf(person); known && k.Needs != nil {
		if count, err := k.Needs.NeedsYou(ctx, identity); err == nil { // else the badge stays
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
			HTTPClient: k.pushClient(), Subscriber: k.vapidSubject(), Topic: p.Tag, TTL: int(p.ttl.Seconds()), Urgency: p.urgency,
			VAPIDPublicKey: public, VAPIDPrivateKey: private,
		})
		if err == nil {
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
			_ = resp.Body.Close()
			err = checkResponse(resp)
			if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone {
				if err := k.Store.RemovePushSubscription(ctx, b.Endpoint); err != nil {
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

func (k *core) vapidSubject() string {
	if base, _, _ := k.Reach.Links(); strings.HasPrefix(base, "https://") {
		return base
	}
	return projectURL
}

// clearNotification clears the notifications of a settled question in browsers. It is best
// effort: failures are neither retried nor recorded.
func (k *core) clearNotification(ctx context.Context, id schema.EventID) {
	ctx, cancel := context.WithTimeout(ctx, k.timing.timeout)
	defer cancel()
	notifications, err := k.Store.NotificationsOf(ctx, id)
	if err != nil {
		return
	}
	closed := &pushMessage{
		PushMessage: schema.PushMessage{ID: id, Title: "This request is closed.", Tag: pushTag(id), Settled: true},
		ttl:         clearTTL, urgency: webpush.UrgencyNormal,
	}
	cleared := map[string]bool{}
	for i := range notifications {
		person := notifications[i].Person
		if notifications[i].Channel == 0 && notifications[i].State == schema.NotificationSent && !cleared[person] {
			cleared[person] = true
			_ = k.push(ctx, person, closed)
		}
	}
}

// pushClient returns a client that does not connect to this machine or private networks
// (SSRF protection), because any person may subscribe an address.
func (k *core) pushClient() *http.Client {
	if k.PushAnywhere {
		return k.client
	}
	return k.publicOnly
}
