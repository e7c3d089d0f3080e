package tables

import (
	"context"

	"github.com/hookback/hookback/server/internal/store"
)

func (t *Tables) TraceCursor(ctx context.Context) (cursor store.TraceCursor, isSet bool, err error) {
	isSet, err = t.ReadOne(ctx, []any{&cursor.Sent, &cursor.Resume}, `SELECT sent, resume FROM trace_cursor`)
	return cursor, isSet, err
}

func (t *Tables) SetTraceCursor(ctx context.Context, cursor store.TraceCursor) error {
	return t.exec(ctx, Plain, `INSERT INTO trace_cursor (sent, resume) VALUES ($1, $2)
		ON CONFLICT (one) DO UPDATE SET sent = excluded.sent, resume = excluded.resume`, cursor.Sent, cursor.Resume)
}
