package sqlite

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/identity"
)

func (s *engine) Identity() *identity.Key { return s.identity }

const queryRotations = `SELECT envelope FROM key_rotations ORDER BY n`

func (s *engine) KeyRotations(ctx context.Context) ([]schema.Envelope, error) {
	rows, err := s.readers.query(ctx, queryRotations)
	return collect(rows, err, func(rows *sql.Rows, e *schema.Envelope) error {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal(text, e); err != nil {
			return fmt.Errorf("decode a key rotation: %w", err)
		}
		return nil
	})
}

// openIdentity loads the hub's key. A new database gets one.
func (s *engine) openIdentity(ctx context.Context, w *writer) error {
	var public []byte
	if err := w.conn.QueryRowContext(ctx, `SELECT public_key FROM hub`).Scan(&public); err != nil {
		return err
	}
	file := identity.File(s.file)
	key, err := identity.Open(file, ed25519.PublicKey(public))
	if s.keyChange != nil && allowsLoss(s.keyChange, err) {
		return s.changeKey(ctx, w, public)
	}
	if errors.Is(err, identity.ErrMismatch) || errors.Is(err, identity.ErrMissing) {
		return fmt.Errorf("%s is missing or belongs to another hub. Restore it from your backup, or run \"hookback-server key new\"; every agent must then trust the hub again (%w)", filepath.Base(file), err)
	}
	if err != nil {
		return err
	}
	s.identity = key
	if len(public) == 0 {
		if err := s.setFirstKey(ctx, w); err != nil {
			return err
		}
	}
	if s.keyChange != nil {
		return s.changeKey(ctx, w, key.Public())
	}
	return nil
}

// setFirstKey stores the public key.
func (s *engine) setFirstKey(ctx context.Context, w *writer) error {
	err := w.runNow(func(t *tx) error { return t.setKey(plaintext{}, s.identity) })
	if err != nil {
		return fmt.Errorf("store the hub's public key: %w", err)
	}
	return s.commitKey(ctx, w)
}

// commitKey puts the prepared key in its place after the database has its public key.
func (s *engine) commitKey(ctx context.Context, w *writer) error {
	if err := identity.Commit(identity.File(s.file)); err != nil {
		return err
	}
	// The write-ahead log has pages with the secrets as they were before until it is reset.
	_, err := w.conn.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

// runNow commits one op before the writer's goroutine runs.
func (w *writer) runNow(run func(t *tx) error) error {
	o := &op{essential: true, needsSavepoint: true, run: run}
	_, err := w.attempt([]*op{o}, nil)
	return errors.Join(err, o.err)
}

// decrypter reads secrets as they are stored.
type decrypter interface {
	Decrypt(place, text string) (string, error)
}

// plaintext reads the secrets of a database without a key.
type plaintext struct{}

func (plaintext) Decrypt(_, text string) (string, error) { return text, nil }

// The places of encrypted columns, see identity.Key.Encrypt.

func channelPlace(column string, id int64) string { return fmt.Sprintf("channels.%s %d", column, id) }

const pushKeyPlace = "notifier.push"

// setKey makes key the hub's key and encrypts all secrets with it.
func (t *tx) setKey(old decrypter, key *identity.Key) error {
	if err := t.encryptChannels(old, key); err != nil {
		return err
	}
	if err := t.encryptPushKey(old, key); err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE hub SET public_key = ?`, []byte(key.Public())); err != nil {
		return err
	}
	return t.signLedgerHead()
}

func (t *tx) encryptChannels(old decrypter, key *identity.Key) error {
	rows, err := t.query(queryChannels)
	channels, err := scanChannels(rows, err, old)
	if err != nil {
		return err
	}
	for i := range channels {
		c := &channels[i]
		if _, err := t.exec(`UPDATE channels SET url = ?, secret = ? WHERE id = ?`,
			key.Encrypt(channelPlace("url", c.ID), c.URL), key.Encrypt(channelPlace("secret", c.ID), c.Secret), c.ID); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) encryptPushKey(old decrypter, key *identity.Key) error {
	var private, public string
	if err := t.get([]any{&private, &public}, queryPushKeys); err != nil {
		return err
	}
	private, err := old.Decrypt(pushKeyPlace, private)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE notifier SET push = ?`, key.Encrypt(pushKeyPlace, private))
	return err
}
