package tables

import (
	"context"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// pushKeyPlace is the place of the encrypted Web Push key, see identity.Key.Encrypt.
const pushKeyPlace = "notifier.push"

func (t *Tables) AddPushSubscription(ctx context.Context, person string, b schema.PushSubscription, limit int) error {
	return t.Write(ctx, Policy, func(w *Work) error {
		count, err := get[int](w, `SELECT count(*) FROM browsers WHERE person = $1 AND endpoint <> $2`, person, b.Endpoint)
		if err != nil {
			return err
		}
		if count >= limit {
			return &schema.FieldError{Detail: fmt.Sprintf("would exceed the limit of %d browsers; turn off notifications in another browser first", limit)}
		}
		return w.Exec(`INSERT INTO browsers (endpoint, p256dh, auth, person, made_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (endpoint) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth, person = excluded.person`,
			b.Endpoint, b.Keys.P256dh, b.Keys.Auth, person, Millis(w.Now))
	})
}

func (t *Tables) RemovePushSubscription(ctx context.Context, endpoint string) error {
	return t.exec(ctx, Policy, `DELETE FROM browsers WHERE endpoint = $1`, endpoint)
}

func (t *Tables) PushSubscriptions(ctx context.Context, person string) ([]schema.PushSubscription, error) {
	return collect(ctx, t, func(b *schema.PushSubscription) []any { return []any{&b.Endpoint, &b.Keys.P256dh, &b.Keys.Auth} },
		`SELECT endpoint, p256dh, auth FROM browsers WHERE person = $1 ORDER BY person`, person)
}

func (t *Tables) PushSubscribers(ctx context.Context) (map[string]bool, error) {
	return collectMap(ctx, t, func(person *string, has *bool) []any { return []any{person, has} }, `SELECT person, count(*) > 0 FROM browsers GROUP BY person`)
}

func (t *Tables) PushKeys(ctx context.Context) (private, public string, err error) {
	if _, err := t.ReadOne(ctx, []any{&private, &public}, `SELECT push, push_key FROM notifier`); err != nil {
		return "", "", err
	}
	private, err = t.Key.Decrypt(pushKeyPlace, private)
	return private, public, err
}

func (t *Tables) SetPushKeys(ctx context.Context, private, public string) error {
	return t.exec(ctx, Policy, `UPDATE notifier SET push = $1, push_key = $2 WHERE push = ''`, t.Key.Encrypt(pushKeyPlace, private), public)
}

func (t *Tables) IsLinkUsed(ctx context.Context, id schema.EventID, mac []byte) (bool, error) {
	return read[bool](ctx, t, `SELECT count(*) > 0 FROM links_used WHERE question = $1 AND mac = $2`, id, mac)
}

func (t *Tables) UseLink(ctx context.Context, id schema.EventID, mac []byte) error {
	return t.Write(ctx, Essential|Policy, func(w *Work) error {
		return w.Exec(`INSERT INTO links_used (question, mac, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, id, mac, Millis(w.Now))
	})
}
