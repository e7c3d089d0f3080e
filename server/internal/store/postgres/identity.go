package postgres

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/identity"
)

func (s *engine) Identity() *identity.Key { return s.identity }

func (s *engine) KeyRotations(ctx context.Context) ([]schema.Envelope, error) {
	rows, err := s.readers.query(ctx, `SELECT envelope FROM key_rotations ORDER BY n`)
	return collect(rows, err, func(rows pgx.Rows, e *schema.Envelope) error {
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

// openIdentity loads the hub's key. A new database gets the key in the file, or a new one.
func (s *engine) openIdentity(ctx context.Context, w *writer, file string) error {
	var public []byte
	if err := w.conn.QueryRow(ctx, `SELECT public_key FROM hub`).Scan(&public); err != nil {
		return err
	}
	key, err := identity.Open(file, ed25519.PublicKey(public))
	if errors.Is(err, identity.ErrMismatch) || errors.Is(err, identity.ErrMissing) {
		return fmt.Errorf("%s is missing or belongs to another hub. Copy it from the machine on which this hub ran, or restore it from your backup (%w)", file, err)
	}
	if err != nil {
		return err
	}
	s.identity = key
	if len(public) > 0 {
		return nil
	}
	o := &op{run: func(t *tx) error {
		if err := t.exec(`UPDATE hub SET public_key = $1`, []byte(key.Public())); err != nil {
			return err
		}
		return t.signLedgerHead()
	}}
	if err := errors.Join(w.attempt([]*op{o}, nil), o.err); err != nil {
		return fmt.Errorf("store the hub's public key: %w", err)
	}
	return identity.Commit(file)
}

// The places of encrypted columns, see identity.Key.Encrypt.

func channelPlace(column string, id int64) string { return fmt.Sprintf("channels.%s %d", column, id) }

const pushKeyPlace = "notifier.push"
