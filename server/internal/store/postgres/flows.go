package postgres

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

func (s *engine) PutFlow(ctx context.Context, f *store.Flow, now time.Time, limit int) error {
	return s.writer.do(ctx, &op{run: func(t *tx) error {
		_ = t.exec(`DELETE FROM flows WHERE expires_at <= $1`, kit.Millis(now))
		_ = t.exec(`DELETE FROM flows WHERE id IN (
			SELECT id FROM flows WHERE kind = $1 AND id <> $2 ORDER BY expires_at DESC, id OFFSET $3)`, f.Kind, f.ID, limit-1)
		return t.exec(`INSERT INTO flows (id, kind, data, expires_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, data = excluded.data, expires_at = excluded.expires_at`, f.ID, f.Kind, f.Data, kit.Millis(f.ExpiresAt))
	}})
}

func (s *engine) TakeFlow(ctx context.Context, id []byte, now time.Time) (f store.Flow, err error) {
	err = s.writer.do(ctx, &op{run: func(t *tx) error {
		f = store.Flow{ID: id}
		return notFound(t.get([]any{&f.Kind, &f.Data, kit.ScanTime(&f.ExpiresAt)},
			`DELETE FROM flows WHERE id = $1 AND expires_at > $2 RETURNING kind, data, expires_at`, id, kit.Millis(now)))
	}})
	return f, err
}
