package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
)

var shares = newTable("shares", "id", "id, hash, app, session, person, transcript, created_at, expires_at, opened_at, opens",
	func(s *store.Share) []any {
		return []any{
			&s.ID, &s.Hash, &s.Session.App, &s.Session.Session, &s.Person, &s.Transcript,
			ScanTime(&s.CreatedAt), ScanTime(&s.ExpiresAt), ScanTime(&s.OpenedAt), &s.Opens,
		}
	})

func (t *Tables) Shares(ctx context.Context) ([]store.Share, error) {
	return shares.list(ctx, t, `ORDER BY created_at DESC, id`)
}

func (t *Tables) Share(ctx context.Context, id string) (store.Share, error) {
	return shares.one(ctx, t, `WHERE id = $1`, id)
}

func (t *Tables) CreateShare(ctx context.Context, share store.Share, record store.LedgerRecord) error {
	return t.Write(ctx, Policy, func(w *Work) error {
		// The role of the author may have changed since the caller checked it.
		mayShare, err := get[bool](w, `SELECT EXISTS (SELECT 1 FROM sessions WHERE app = $1 AND session = $2)
			AND EXISTS (SELECT 1 FROM people WHERE name = $3 AND role <> 'viewer')`, share.Session.App, share.Session.Session, share.Person)
		if err := orNotFound(mayShare, err); err != nil {
			return err
		}
		if err = w.Exec(`DELETE FROM shares WHERE expires_at <= $1`, Millis(share.CreatedAt)); err != nil {
			return err
		}
		share.OpenedAt, share.Opens = time.Time{}, 0
		if err = shares.insert(w, &share); err != nil {
			return err
		}
		return w.AppendLedger(record)
	})
}

func (t *Tables) RemoveShare(ctx context.Context, id string, record store.LedgerRecord) error {
	return t.Write(ctx, Essential|Policy, func(w *Work) error {
		n, err := w.ExecCount(`DELETE FROM shares WHERE id = $1`, id)
		if err := orNotFound(n > 0, err); err != nil {
			return err
		}
		return w.AppendLedger(record)
	})
}

func (t *Tables) RecordShareOpened(ctx context.Context, id string, at time.Time, first store.LedgerRecord) error {
	return t.Write(ctx, Plain, func(w *Work) error {
		opens, err := get[int64](w, `UPDATE shares SET opened_at = $1, opens = opens + 1 WHERE id = $2 RETURNING opens`, Millis(at), id)
		if err != nil || opens != 1 {
			return err
		}
		return w.AppendLedger(first)
	})
}
