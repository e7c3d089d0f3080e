package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

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

// allowsLoss reports whether err is the loss of the key, and the change needs no old key.
func allowsLoss(c *store.KeyChange, err error) bool {
	return !c.Rotate && (errors.Is(err, identity.ErrMissing) || errors.Is(err, identity.ErrInvalid))
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
	return s.commitKey(ctx, w)
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
