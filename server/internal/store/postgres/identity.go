package postgres

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store/tables"
)

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
	s.Key = key
	if len(public) > 0 {
		return nil
	}
	o := &tables.Op{Run: func(t *tables.Work) error { return t.SetKey(key) }}
	if err := errors.Join(w.attempt([]*tables.Op{o}, nil), o.Err); err != nil {
		return fmt.Errorf("store the hub's public key: %w", err)
	}
	return identity.Commit(file)
}
