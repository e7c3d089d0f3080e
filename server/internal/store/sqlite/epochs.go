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
		{`INSERT INTO epochs (n, id, head) SELECT coalesce(max(n), 0) + 1, ?, ? FROM epochs`, []any{uuid.NewString(), head}},
		{`DELETE FROM epochs WHERE n <= (SELECT max(n) FROM epochs) - ?`, []any{kit.MaxEpochs}},
	} {
		if _, err := conn.ExecContext(ctx, step.query, step.args...); err != nil {
			return nil, err
		}
	}
	rows, err := conn.QueryContext(ctx, `SELECT id, head FROM epochs ORDER BY n`)
	return collect(rows, err, func(rows *sql.Rows, e *kit.Epoch) error { return rows.Scan(&e.ID, &e.Head) })
}
