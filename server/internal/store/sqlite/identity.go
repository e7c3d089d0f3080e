package sqlite

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store/tables"
)

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
	s.Key = key
	if len(public) == 0 {
		if err := s.setFirstKey(w); err != nil {
			return err
		}
	}
	if s.keyChange != nil {
		return s.changeKey(ctx, w, key.Public())
	}
	return nil
}

// setFirstKey stores the public key.
func (s *engine) setFirstKey(w *writer) error {
	err := w.runNow(func(t *tables.Work) error { return t.SetKey(s.Key) })
	if err != nil {
		return fmt.Errorf("store the hub's public key: %w", err)
	}
	return identity.Commit(identity.File(s.file))
}

// commitKey puts the prepared key in its place after the database has its public key and the secrets that it
// encrypts.
func (s *engine) commitKey(ctx context.Context, w *writer) error {
	if err := identity.Commit(identity.File(s.file)); err != nil {
		return err
	}
	// The write-ahead log has pages with the secrets as they were before until it is reset.
	_, err := w.conn.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

// runNow commits one op before the writer's goroutine runs.
func (w *writer) runNow(run func(*tables.Work) error) error {
	o := &tables.Op{Kind: tables.Essential, Run: run}
	_, err := w.attempt([]*tables.Op{o}, nil)
	return errors.Join(err, o.Err)
}
