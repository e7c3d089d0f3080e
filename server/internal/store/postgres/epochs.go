package postgres

import (
	"context"

	"github.com/hookback/hookback/server/internal/store/tables"
)

// An epoch of the log ends when no hub has the database open, and when the server's history takes
// another line: a standby was promoted, or a backup was restored.

// queryTimeline identifies the line of the server's history.
const queryTimeline = `SELECT s.system_identifier || '/' || c.timeline_id FROM pg_control_system() s, pg_control_checkpoint() c`

// openEpochs loads the epochs, the oldest first. It begins one if this hub is the first, or if the
// current one is of another line.
func (s *engine) openEpochs(ctx context.Context, w *writer, head int64) error {
	conn := w.conn
	var timeline, current string
	if err := conn.QueryRow(ctx, queryTimeline).Scan(&timeline); err != nil {
		return err
	}
	err := conn.QueryRow(ctx, `SELECT timeline FROM epochs ORDER BY n DESC LIMIT 1`).Scan(&current)
	if err := tables.IgnoreNoRows(err); err != nil {
		return err
	}
	if s.wasFirst && !s.HasEpochs() || current != timeline {
		if err := tables.BeginEpoch(w.exec(ctx), head, timeline); err != nil {
			return err
		}
	}
	return s.LoadEpochs(w.read(ctx))
}
