package sqlite

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) PutFlow(ctx context.Context, f *store.Flow, now time.Time, limit int) error {
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		if _, err := t.exec(`DELETE FROM flows WHERE expires_at <= ?`, kit.Millis(now)); err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM flows WHERE id IN (
			SELECT id FROM flows WHERE kind = ? AND id <> ? ORDER BY expires_at DESC, id LIMIT -1 OFFSET ?)`, f.Kind, f.ID, limit-1); err != nil {
			return err
		}
		_, err := t.exec(`INSERT OR REPLACE INTO flows (id, kind, data, expires_at) VALUES (?, ?, ?, ?)`, f.ID, f.Kind, f.Data, kit.Millis(f.ExpiresAt))
		return err
	}})
}

func (s *engine) TakeFlow(ctx context.Context, id []byte, now time.Time) (f store.Flow, err error) {
	err = s.writer.do(ctx, &op{essential: true, run: func(t *tx) error {
		f = store.Flow{ID: id}
		return notFound(t.get([]any{&f.Kind, &f.Data, kit.ScanTime(&f.ExpiresAt)},
			`DELETE FROM flows WHERE id = ? AND expires_at > ? RETURNING kind, data, expires_at`, id, kit.Millis(now)))
	}})
	return f, err
}
