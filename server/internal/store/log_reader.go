package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
)

// LogRow is one committed entry of the hub's log, numbered without holes.
type LogRow struct {
	Seq   int64
	Event *Event // whole for a new event and for the end of a question; else ID and Status
	// Change is set for a change of a question, unset for a new event.
	Change bool
	Ends   bool // this change is the question's end
}

var (
	queryLogEvents = `SELECT ` + eventColumns + listedPayload + `q.question, q.asked FROM ` + eventTables + `
		WHERE e.stream_id = 1 AND e.seq > ? AND e.seq <= ? ORDER BY e.seq LIMIT ?`
	queryLogEvent = `SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM ` + eventTables + `
		WHERE e.stream_id = 1 AND e.seq = ?`
)

const queryLogChanges = `SELECT seq, question, ends, status FROM changes
	WHERE stream_id = 1 AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`

// After returns the log behind seq, in order and exactly as it was published, but
// for payloads of more than schema.MaxListed bytes. It returns up to limit rows,
// fewer when they are big, and none only at the end of the log. It fails with
// ErrLogRewound when seq is more than Head, and with ErrPruned when rows behind seq
// are gone.
func (s *Store) After(ctx context.Context, seq int64, limit int) ([]LogRow, error) {
	head := s.head.Load()
	switch {
	case seq > head:
		return nil, ErrLogRewound
	case seq < s.pruned.Load():
		return nil, ErrPruned
	case seq == head || limit <= 0:
		return nil, nil
	}
	rows, err := s.readLog(ctx, seq, min(head, seq+int64(limit)), limit)
	switch {
	case seq < s.pruned.Load(): // meanwhile
		return nil, ErrPruned
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, fmt.Errorf("the log has a hole behind %d", seq)
	}
	return rows, nil
}

// readLog merges the two kinds of rows behind seq and up to end. What is up to
// the head does not change, so two queries see the same log.
func (s *Store) readLog(ctx context.Context, seq, end int64, limit int) ([]LogRow, error) {
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
		rows = append(rows, LogRow{Seq: int64(e.ID), Event: e})
	}
	slices.SortFunc(rows, func(a, b LogRow) int { return int(a.Seq - b.Seq) })
	// Where the events ran out of room, the changes behind them wait.
	for i := range rows {
		if rows[i].Seq != seq+1+int64(i) {
			rows = rows[:i]
			break
		}
	}
	return rows, s.loadEndedEvents(ctx, rows)
}

func (s *Store) readLogChanges(ctx context.Context, seq, end int64, limit int) (changes []LogRow, err error) {
	rows, err := s.readers.query(ctx, queryLogChanges, seq, end, limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		r := LogRow{Event: &Event{}, Change: true}
		if err := rows.Scan(&r.Seq, &r.Event.ID, &r.Ends, &r.Event.Status); err != nil {
			return nil, err
		}
		changes = append(changes, r)
	}
	return changes, rows.Err()
}

// loadEndedEvents puts the whole event into the rows that end a question.
func (s *Store) loadEndedEvents(ctx context.Context, rows []LogRow) error {
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
			return errors.Join(schema.ErrNotFound, fmt.Errorf("the question of change %d", row.Seq))
		}
		rows[i] = changeLogRow(row.Seq, events[0], row.Event.Status, true)
	}
	return nil
}
