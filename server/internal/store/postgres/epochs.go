package postgres

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/server/internal/store/kit"
)

// An epoch of the log ends when no hub has the database open, and when the server's history takes
// another line: a standby was promoted, or a backup was restored.

const (
	// queryTimeline identifies the line of the server's history.
	queryTimeline = `SELECT s.system_identifier || '/' || c.timeline_id FROM pg_control_system() s, pg_control_checkpoint() c`
	queryEpochs   = `SELECT id, head FROM epochs ORDER BY n`
)

// openEpochs loads the epochs, the oldest first. It begins one if this hub is the first, or if the
// current one is of another line.
func (s *engine) openEpochs(ctx context.Context, conn *pgx.Conn, head int64) error {
	var timeline, current string
	if err := conn.QueryRow(ctx, queryTimeline).Scan(&timeline); err != nil {
		return err
	}
	err := conn.QueryRow(ctx, `SELECT timeline FROM epochs ORDER BY n DESC LIMIT 1`).Scan(&current)
	if err := ignoreNoRows(err); err != nil {
		return err
	}
	if s.wasFirst && s.epochs.Load() == nil || current != timeline {
		// Another hub may do the same at this moment. Then there are two epochs with this head.
		for _, step := range []struct {
			query string
			args  []any
		}{
			{`INSERT INTO epochs (n, id, head, timeline) SELECT coalesce(max(n), 0) + 1, $1, $2, $3 FROM epochs ON CONFLICT DO NOTHING`, []any{uuid.NewString(), head, timeline}},
			{`DELETE FROM epochs WHERE n <= (SELECT max(n) FROM epochs) - $1`, []any{kit.MaxEpochs}},
		} {
			if _, err := conn.Exec(ctx, step.query, step.args...); err != nil {
				return err
			}
		}
	}
	return s.loadEpochs(ctx, conn)
}

func (s *engine) loadEpochs(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, queryEpochs)
	list, err := collect(rows, err, func(rows pgx.Rows, e *kit.Epoch) error { return rows.Scan(&e.ID, &e.Head) })
	if err == nil {
		s.epochs.Store(&list)
	}
	return err
}

func (s *engine) Epoch() string {
	list := *s.epochs.Load()
	return list[len(list)-1].ID
}

func (s *engine) HasPosition(epoch string, seq int64) bool {
	return kit.HasPosition(slices.Clone(*s.epochs.Load()), epoch, seq)
}
