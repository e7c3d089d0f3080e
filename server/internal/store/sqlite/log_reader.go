package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

var (
	queryLogEvents = `SELECT ` + eventColumns + listedPayload + `q.question, q.asked FROM ` + eventTables + `
		WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?`
	queryLogEvent = `SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM ` + eventTables + `
		WHERE e.seq = ?`
)

const queryLogChanges = `SELECT seq, question, ends, status FROM changes
	WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`

func (s *engine) After(ctx context.Context, seq int64, limit int) ([]store.LogRow, error) {
	head := s.head.Load()
	switch {
	case seq > head:
		return nil, store.ErrLogRewound
	case seq < s.pruned.Load():
		return nil, store.ErrPruned
	case seq == head || limit <= 0:
		return nil, nil
	}
	rows, err := s.readLog(ctx, seq, min(head, seq+int64(limit)), limit)
	switch {
	case seq < s.pruned.Load(): // pruned during the read
		return nil, store.ErrPruned
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, fmt.Errorf("the log has a gap after %d", seq)
	}
	return rows, nil
}

// readLog merges events and changes after seq up to end. Committed rows don't change, so
// both queries see the same log.
func (s *engine) readLog(ctx context.Context, seq, end int64, limit int) ([]store.LogRow, error) {
	found, err := s.readers.query(ctx, queryLogEvents, seq, end, limit)
	events, err := s.readEvents(ctx, found, err)
	if err != nil {
		return nil, err
	}
	rows, err := s.readLogChanges(ctx, seq, end, limit)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		rows = append(rows, store.LogRow{Seq: int64(e.ID), Event: e})
	}
	slices.SortFunc(rows, func(a, b store.LogRow) int { return int(a.Seq - b.Seq) })
	// If the events ran into the size limit, later changes wait for the next call.
	for i := range rows {
		if rows[i].Seq != seq+1+int64(i) {
			rows = rows[:i]
			break
		}
	}
	return rows, s.loadEndedEvents(ctx, rows)
}

func (s *engine) readLogChanges(ctx context.Context, seq, end int64, limit int) ([]store.LogRow, error) {
	rows, err := s.readers.query(ctx, queryLogChanges, seq, end, limit)
	return collect(rows, err, func(rows *sql.Rows, r *store.LogRow) error {
		r.Event, r.Change = &store.Event{}, true
		return rows.Scan(&r.Seq, &r.Event.ID, &r.Ends, &r.Event.Status)
	})
}

// loadEndedEvents adds the complete event to rows that are resolutions.
func (s *engine) loadEndedEvents(ctx context.Context, rows []store.LogRow) error {
	for i, row := range rows {
		if !row.Ends {
			continue
		}
		found, err := s.readers.query(ctx, queryLogEvent, row.Event.ID)
		events, err := s.readEvents(ctx, found, err)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return errors.Join(schema.ErrNotFound, fmt.Errorf("read the question of change %d", row.Seq))
		}
		rows[i] = kit.ChangeLogRow(row.Seq, events[0], row.Event.Status, true)
	}
	return nil
}
