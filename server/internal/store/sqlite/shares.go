package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryShares = `SELECT id, hash, app, session, person, transcript, created_at, expires_at, opened_at, opens FROM shares WHERE stream_id = 1`

func shareFields(s *store.Share) []any {
	return []any{
		&s.ID, &s.Hash, &s.Session.App, &s.Session.Session, &s.Person, &s.Transcript,
		kit.ScanTime(&s.CreatedAt), kit.ScanTime(&s.ExpiresAt), kit.ScanTime(&s.OpenedAt), &s.Opens,
	}
}

func (s *engine) Shares(ctx context.Context) ([]store.Share, error) {
	rows, err := s.readers.query(ctx, queryShares+` ORDER BY created_at DESC, id`)
	return collect(rows, err, func(rows *sql.Rows, s *store.Share) error { return rows.Scan(shareFields(s)...) })
}

func (s *engine) Share(ctx context.Context, id string) (share store.Share, err error) {
	err = s.readers.get(ctx, shareFields(&share), queryShares+` AND id = ?`, id)
	return share, notFound(err)
}

func (s *engine) CreateShare(ctx context.Context, share store.Share, record store.LedgerRecord) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		var found int64
		if err := t.get([]any{&found}, `SELECT 1 FROM sessions WHERE stream_id = 1 AND app = ? AND session = ?`, share.Session.App, share.Session.Session); err != nil {
			return notFound(err)
		}
		// The role of the author may have changed since the caller checked it.
		if err := t.get([]any{&found}, `SELECT 1 FROM people WHERE stream_id = 1 AND name = ? AND role <> 'viewer'`, share.Person); err != nil {
			return notFound(err)
		}
		if _, err := t.exec(`DELETE FROM shares WHERE stream_id = 1 AND expires_at <= ?`, kit.Millis(share.CreatedAt)); err != nil {
			return err
		}
		_, err := t.exec(`INSERT INTO shares (stream_id, id, hash, app, session, person, transcript, created_at, expires_at, opened_at, opens)
			VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)`,
			share.ID, share.Hash, share.Session.App, share.Session.Session, share.Person, share.Transcript,
			kit.Millis(share.CreatedAt), kit.Millis(share.ExpiresAt))
		if err != nil {
			return err
		}
		return t.appendLedger(record)
	}})
}

func (s *engine) RemoveShare(ctx context.Context, id string, record store.LedgerRecord) error {
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		n, err := t.exec(`DELETE FROM shares WHERE stream_id = 1 AND id = ?`, id)
		if err == nil && n == 0 {
			return schema.ErrNotFound
		}
		if err != nil {
			return err
		}
		return t.appendLedger(record)
	}})
}

func (s *engine) RecordShareOpened(ctx context.Context, id string, at time.Time, first store.LedgerRecord) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		n, err := t.exec(`UPDATE shares SET opened_at = ?, opens = opens + 1 WHERE stream_id = 1 AND id = ?`, kit.Millis(at), id)
		if err != nil || n == 0 {
			return err
		}
		var opens int64
		if err := t.get([]any{&opens}, `SELECT opens FROM shares WHERE stream_id = 1 AND id = ?`, id); err != nil || opens > 1 {
			return err
		}
		return t.appendLedger(first)
	}})
}
