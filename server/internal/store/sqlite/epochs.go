package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/google/uuid"
)

// maxEpochs is the number of epochs that are known. A reader with an older one starts again.
const maxEpochs = 64

// epoch is one opening of the database.
type epoch struct {
	id   string
	head int64 // the last sequence number before it
}

// beginEpoch stores the epoch of this opening and loads the earlier ones, the oldest first.
func beginEpoch(ctx context.Context, conn *sql.Conn, head int64) ([]epoch, error) {
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`INSERT INTO epochs (stream_id, n, id, head) SELECT 1, coalesce(max(n), 0) + 1, ?, ? FROM epochs WHERE stream_id = 1`, []any{uuid.NewString(), head}},
		{`DELETE FROM epochs WHERE stream_id = 1 AND n <= (SELECT max(n) FROM epochs WHERE stream_id = 1) - ?`, []any{maxEpochs}},
	} {
		if _, err := conn.ExecContext(ctx, step.query, step.args...); err != nil {
			return nil, err
		}
	}
	rows, err := conn.QueryContext(ctx, `SELECT id, head FROM epochs WHERE stream_id = 1 ORDER BY n`)
	return collect(rows, err, func(rows *sql.Rows, e *epoch) error { return rows.Scan(&e.id, &e.head) })
}

// hasPosition is HasPosition of the epochs, the oldest first.
func hasPosition(epochs []epoch, epochID string, seq int64) bool {
	i := slices.IndexFunc(epochs, func(e epoch) bool { return e.id == epochID })
	if i < 0 {
		return false
	}
	end := int64(math.MaxInt64) // of the current epoch
	if i+1 < len(epochs) {
		end = epochs[i+1].head
	}
	return seq <= end
}
