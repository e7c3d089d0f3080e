package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/server/internal/store"
)

var flows = newTable("flows", "id", "id, kind, data, expires_at", func(f *store.Flow) []any {
	return []any{&f.ID, &f.Kind, &f.Data, ScanTime(&f.ExpiresAt)}
})

func (t *Tables) PutFlow(ctx context.Context, f *store.Flow, now time.Time, limit int) error {
	return t.Write(ctx, Essential, func(w *Work) error {
		if err := w.Exec(`DELETE FROM flows WHERE expires_at <= $1`, Millis(now)); err != nil {
			return err
		}
		if err := w.Exec(`DELETE FROM flows WHERE id IN (
			SELECT id FROM flows WHERE kind = $1 AND id <> $2 ORDER BY expires_at DESC, id LIMIT ALL OFFSET $3)`, f.Kind, f.ID, limit-1); err != nil {
			return err
		}
		return flows.upsert(w, f)
	})
}

func (t *Tables) TakeFlow(ctx context.Context, id []byte, now time.Time) (store.Flow, error) {
	return write(ctx, t, Essential, func(w *Work) (f store.Flow, err error) {
		err = orNotFound(w.Get(flows.fields(&f), `DELETE FROM flows WHERE id = $1 AND expires_at > $2 RETURNING id, kind, data, expires_at`,
			id, Millis(now)))
		return f, err
	})
}
