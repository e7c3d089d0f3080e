package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

var (
	queryLogEvents = `SELECT ` + eventColumns + listedPayload + `q.question, q.asked FROM ` + eventTables + `
		WHERE e.seq > $1 AND e.seq <= $2 ORDER BY e.seq LIMIT $3`
	queryLogEvent = `SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM ` + eventTables + `
		WHERE e.seq = $1`
)

const queryLogChanges = `SELECT seq, question, ends, status FROM changes
	WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3`

func (s *engine) After(ctx context.Context, seq int64, limit int) ([]store.LogRow, error) {
	if seq > s.head.Load() {
		if err := s.catchUpTo(ctx, seq); err != nil {
			return nil, err
		}
	}
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

// catchUpTo catches up with the other hubs if one of them has committed a row that this hub does not
// know yet: its reader continues here.
func (s *engine) catchUpTo(ctx context.Context, seq int64) error {
	var commits, head int64
	err := s.readers.get(ctx, []any{&commits, &head}, `SELECT commits, head FROM streams`)
	if err != nil || head < seq {
		return errOfRead(ctx, err)
	}
	return s.writer.refreshTo(ctx, commits)
}

// readLog merges events and changes after seq up to end. Committed rows don't change, so
// both queries see the same log.
func (s *engine) readLog(ctx context.Context, seq, end int64, limit int) ([]store.LogRow, error) {
	batch := &pgx.Batch{} // one exchange
	batch.Queue(queryLogEvents, seq, end, limit)
	batch.Queue(queryLogChanges, seq, end, limit)
	results := s.readers.pool.SendBatch(ctx, batch)
	events, err := readEvents(results.Query())
	var rows []store.LogRow
	if err == nil {
		rows, err = readLogChanges(results.Query())
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, errOfRead(ctx, err)
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

func readLogChanges(rows pgx.Rows, err error) ([]store.LogRow, error) {
	return collect(rows, err, func(rows pgx.Rows, r *store.LogRow) error {
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
		events, err := readEvents(found, err)
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

func (s *engine) TraceEntries(ctx context.Context, seq int64, limit int) (entries []store.LogEntry, upTo int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, seq, err
	}
	return s.readEntries(ctx, seq, limit)
}
