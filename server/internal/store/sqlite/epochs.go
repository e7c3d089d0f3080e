package sqlite

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/hookback/hookback/server/internal/store/kit"
)

// beginEpoch stores the epoch of this opening and loads the earlier ones, the oldest first.
func beginEpoch(ctx context.Context, conn *sql.Conn, head int64) ([]kit.Epoch, error) {
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`INSERT INTO epochs (stream_id, n, id, head) SELECT 1, coalesce(max(n), 0) + 1, ?, ? FROM epochs WHERE stream_id = 1`, []any{uuid.NewString(), head}},
		{`DELETE FROM epochs WHERE stream_id = 1 AND n <= (SELECT max(n) FROM epochs WHERE stream_id = 1) - ?`, []any{kit.MaxEpochs}},
	} {
		if _, err := conn.ExecContext(ctx, step.query, step.args...); err != nil {
			return nil, err
		}
	}
	rows, err := conn.QueryContext(ctx, `SELECT id, head FROM epochs WHERE stream_id = 1 ORDER BY n`)
	return collect(rows, err, func(rows *sql.Rows, e *kit.Epoch) error { return rows.Scan(&e.ID, &e.Head) })
}
