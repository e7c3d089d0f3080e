package sqlite

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// openIdentity loads the hub's key. A new database gets one.
func (s *engine) openIdentity(ctx context.Context, w *writer, public ed25519.PublicKey) error {
	file := identity.File(s.file)
	key, err := identity.Open(file, public)
	isLost := errors.Is(err, identity.ErrMissing) || errors.Is(err, identity.ErrInvalid)
	if isLost && s.keyChange != nil && !s.keyChange.Rotate { // which needs no old key
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
		if err := w.runNow(func(t *tables.Work) error { return t.SetKey(key) }); err != nil {
			return fmt.Errorf("store the hub's public key: %w", err)
		}
		if err := identity.Commit(file); err != nil {
			return err
		}
	}
	if s.keyChange != nil {
		return s.changeKey(ctx, w, key.Public())
	}
	return nil
}

// runNow commits one op before the writer's goroutine runs.
func (w *writer) runNow(run func(*tables.Work) error) error {
	o := &tables.Op{Kind: tables.Essential, Run: run}
	_, err := w.attempt([]*tables.Op{o}, nil)
	return errors.Join(err, o.Err)
}

// ChangeKey replaces the key of a database that no hub has open, encrypts all secrets with the
// new key, and deletes the old one. A crash leaves either key, never none. It fails with ErrLocked
// if a hub is running.
func ChangeKey(ctx context.Context, cfg Config, change *store.KeyChange) error {
	cfg.keyChange = change
	s, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	return s.Close()
}

// changeKey carries out s.keyChange. The store's key is nil if it is lost; public is its public
// key.
func (s *engine) changeKey(ctx context.Context, w *writer, public []byte) error {
	old, c := s.Key, s.keyChange
	next, err := identity.Prepare(identity.File(s.file))
	if err != nil {
		return err
	}
	c.Old, c.New, c.PublicKey, c.Lost = schema.KeyID(public), next.ID(), sign.FormatPublicKey(next.Public()), old == nil
	err = w.runNow(func(t *tables.Work) error {
		s.Key = next // signs the audit log from here on
		if err := s.recordKeyChange(t, c, old, next); err != nil {
			return err
		}
		if old == nil {
			if c.Channels, err = t.RemoveUnreadable(); err != nil {
				return err
			}
			return t.SetKey(next) // nothing encrypted is left
		}
		if err := signUndelivered(t, old, next); err != nil {
			return err
		}
		return t.SetKey(old)
	})
	if err != nil {
		return fmt.Errorf("change the hub's key: %w; nothing was changed", err)
	}
	// The database has the new public key and the secrets that it encrypts: now the prepared key takes its place.
	if err := identity.Commit(identity.File(s.file)); err != nil {
		return err
	}
	// The write-ahead log has pages with the secrets as they were before until it is reset.
	return w.exec(ctx)(`PRAGMA wal_checkpoint(TRUNCATE)`)
}

// recordKeyChange stores the rotation, or removes all earlier ones, and writes the audit log.
func (s *engine) recordKeyChange(t *tables.Work, c *store.KeyChange, old, next *identity.Key) error {
	action := "key.replaced"
	if c.Rotate {
		action = "key.rotated"
		payload, err := json.Marshal(sign.KeyRotation{
			HubID: s.ID, From: c.Old, PublicKey: sign.FormatPublicKey(next.Public()), At: schema.Millis(tables.Millis(t.Now)),
		})
		if err != nil {
			return err
		}
		envelope, err := json.Marshal(old.Sign(schema.RotationPayload, payload))
		if err != nil {
			return err
		}
		if err := t.Exec(`INSERT INTO key_rotations (n, envelope)
			SELECT coalesce(max(n), 0) + 1, $1 FROM key_rotations`, envelope); err != nil {
			return err
		}
		if err := t.Exec(`DELETE FROM key_rotations WHERE n <= (SELECT max(n) FROM key_rotations) - $1`, sign.MaxRotations); err != nil {
			return err
		}
	} else if err := t.Exec(`DELETE FROM key_rotations`); err != nil {
		return err
	}
	return t.AppendLedger(store.LedgerRecord{Action: action, Actor: tables.ByHub, Data: tables.KeyData{From: c.Old, To: c.New}})
}

// signUndelivered replaces the signatures of answers that agents may still receive: agents that
// follow the change no longer trust the old key.
func signUndelivered(t *tables.Work, old, next *identity.Key) error {
	signed := map[int64][]byte{}
	err := t.Query(func(rows tables.Rows) error {
		var seq int64
		var receipt []byte
		var e schema.Envelope
		if err := rows.Scan(&seq, &receipt); err != nil {
			return err
		}
		if err := json.Unmarshal(receipt, &e); err != nil {
			return fmt.Errorf("decode the receipt of event %d: %w", seq, err)
		}
		if e.Verify(e.PayloadType, old.Public()) != nil {
			return nil //nolint:nilerr // of an earlier key, or changed
		}
		envelope, err := json.Marshal(next.Sign(e.PayloadType, e.Payload))
		signed[seq] = envelope
		return err
	}, `SELECT q.seq, q.receipt FROM deliveries d JOIN questions q ON q.seq = d.seq WHERE d.undelivered AND q.receipt IS NOT NULL`)
	if err != nil {
		return err
	}
	for seq, envelope := range signed {
		if err := t.Exec(`UPDATE questions SET receipt = $1 WHERE seq = $2`, envelope, seq); err != nil {
			return err
		}
	}
	return nil
}
