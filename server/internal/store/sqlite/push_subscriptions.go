package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const (
	queryPushSubscriptions  = `SELECT endpoint, p256dh, auth FROM browsers WHERE person = ? ORDER BY person`
	queryPushSubscribers    = `SELECT DISTINCT person FROM browsers`
	queryPushKeys           = `SELECT push, push_key FROM notifier`
	queryIsLinkUsed         = `SELECT count(*) FROM links_used WHERE question = ? AND mac = ?`
	queryCountSubscriptions = `SELECT count(*) FROM browsers WHERE person = ? AND endpoint <> ?`
)

func (s *engine) AddPushSubscription(ctx context.Context, person string, b schema.PushSubscription, limit int) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		var count int
		if err := t.get([]any{&count}, queryCountSubscriptions, person, b.Endpoint); err != nil {
			return err
		}
		if count >= limit {
			return &schema.FieldError{Detail: fmt.Sprintf("would exceed the limit of %d browsers; turn off notifications in another browser first", limit)}
		}
		_, err := t.exec(`INSERT INTO browsers (endpoint, p256dh, auth, person, made_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (endpoint) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth, person = excluded.person`,
			b.Endpoint, b.Keys.P256dh, b.Keys.Auth, person, kit.Millis(t.now))
		return err
	}})
}

func (s *engine) RemovePushSubscription(ctx context.Context, endpoint string) error {
	return s.writer.exec(ctx, false, `DELETE FROM browsers WHERE endpoint = ?`, endpoint)
}

func (s *engine) PushSubscriptions(ctx context.Context, person string) ([]schema.PushSubscription, error) {
	rows, err := s.readers.query(ctx, queryPushSubscriptions, person)
	return collect(rows, err, func(rows *sql.Rows, b *schema.PushSubscription) error {
		return rows.Scan(&b.Endpoint, &b.Keys.P256dh, &b.Keys.Auth)
	})
}

func (s *engine) PushSubscribers(ctx context.Context) (map[string]bool, error) {
	rows, err := s.readers.query(ctx, queryPushSubscribers)
	people := map[string]bool{}
	return people, eachRow(rows, err, func(rows *sql.Rows) error {
		var person string
		err := rows.Scan(&person)
		people[person] = true
		return err
	})
}

func (s *engine) PushKeys(ctx context.Context) (private, public string, err error) {
	if err := s.readers.get(ctx, []any{&private, &public}, queryPushKeys); err != nil {
		return "", "", err
	}
	private, err = s.identity.Decrypt(pushKeyPlace, private)
	return private, public, err
}

func (s *engine) SetPushKeys(ctx context.Context, private, public string) error {
	return s.writer.exec(ctx, false, `UPDATE notifier SET push = ?, push_key = ? WHERE push = ''`, s.identity.Encrypt(pushKeyPlace, private), public)
}

func (s *engine) IsLinkUsed(ctx context.Context, id schema.EventID, mac []byte) (bool, error) {
	var n int
	err := s.readers.get(ctx, []any{&n}, queryIsLinkUsed, id, mac)
	return n > 0, err
}

func (s *engine) UseLink(ctx context.Context, id schema.EventID, mac []byte) error {
	return s.writer.do(ctx, &op{essential: true, run: func(t *tx) error {
		_, err := t.exec(`INSERT INTO links_used (question, mac, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, id, mac, kit.Millis(t.now))
		return err
	}})
}
