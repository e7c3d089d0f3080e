package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

func (t *Tables) Head() int64 { return t.State.Head.Load() }

func (t *Tables) Pruned() int64 { return t.State.Pruned.Load() }

var (
	queryLogEvents = `SELECT ` + eventColumns + listedPayload + `q.question, q.asked FROM ` + eventTables + `
		WHERE e.seq > $1 AND e.seq <= $2 ORDER BY e.seq LIMIT $3`
	queryLogEvent = `SELECT ` + eventColumns + listedPayload + `q.question, q.status FROM ` + eventTables + `
		WHERE e.seq = $1`
)

const queryLogChanges = `SELECT seq, question, ends, status FROM changes
	WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3`

func (t *Tables) After(ctx context.Context, seq int64, limit int) ([]store.LogRow, error) {
	head := t.Head()
	switch {
	case seq > head:
		return nil, store.ErrLogRewound
	case seq < t.Pruned():
		return nil, store.ErrPruned
	case seq == head || limit <= 0:
		return nil, nil
	}
	rows, err := t.ReadLog(ctx, seq, min(head, seq+int64(limit)), limit)
	switch {
	case seq < t.Pruned(): // pruned during the read
		return nil, store.ErrPruned
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, fmt.Errorf("the log has a gap after %d", seq)
	}
	return rows, nil
}

// ReadLog merges events and changes after seq up to end. Committed rows don't change, so
// both queries see the same log.
func (t *Tables) ReadLog(ctx context.Context, seq, end int64, limit int) ([]store.LogRow, error) {
	events, err := t.readEvents(ctx, queryLogEvents, seq, end, limit)
	if err != nil {
		return nil, err
	}
	rows, err := collect(ctx, t, func(r *store.LogRow) []any {
		r.Event, r.Change = &store.Event{}, true
		return []any{&r.Seq, &r.Event.ID, &r.Ends, &r.Event.Status}
	}, queryLogChanges, seq, end, limit)
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
	return rows, t.loadEndedEvents(ctx, rows)
}

// loadEndedEvents adds the complete event to rows that are resolutions.
func (t *Tables) loadEndedEvents(ctx context.Context, rows []store.LogRow) error {
	for i, row := range rows {
		if !row.Ends {
			continue
		}
		events, err := t.readEvents(ctx, queryLogEvent, row.Event.ID)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return errors.Join(schema.ErrNotFound, fmt.Errorf("read the question of change %d", row.Seq))
		}
		rows[i] = changeLogRow(row.Seq, events[0], row.Event.Status, true)
	}
	return nil
}

var queryEntryEvents = `SELECT ` + eventColumns + fullPayload + `q.question, q.asked, c.chat FROM ` + eventTables + `
	LEFT JOIN chats c ON c.seq = e.seq
	WHERE e.seq > $1 AND e.seq <= $2 ORDER BY e.seq`

const queryEntryEnds = `SELECT seq, question, status FROM changes
	WHERE seq > $1 AND seq <= $2 AND ends ORDER BY seq`

func (t *Tables) LogEntries(
	ctx context.Context, reader store.LogReader, seq int64, limit int,
) (entries []store.LogEntry, upTo int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, seq, err
	}
	isKept := false
	if reader != store.TraceReader {
		entries, upTo, isKept = t.State.Tail.Entries(reader, seq, limit)
	}
	if !isKept {
		entries, upTo, err = t.readEntries(ctx, seq, limit)
	}
	if reader == store.ProjectionReader {
		t.State.Projected.Reach(seq)
		if len(entries) == 0 && err == nil {
			t.State.Projected.Reach(upTo)
		}
	}
	return entries, upTo, err
}

// readEntries is logTail.Entries from the database.
func (t *Tables) readEntries(ctx context.Context, seq int64, limit int) (entries []store.LogEntry, upTo int64, err error) {
	upTo = min(t.Head(), seq+int64(limit))
	if upTo <= seq || ctx.Err() != nil {
		return nil, seq, ctx.Err()
	}
	events, full, err := t.scanEvents(ctx, store.MaxPageBytes, (*eventRow).destWithTranscript, queryEntryEvents, seq, upTo)
	if err != nil {
		return nil, seq, err
	}
	if full {
		upTo = events[len(events)-1].Seq
	}
	ends, err := t.entryEnds(ctx, seq, upTo)
	if err != nil {
		return nil, seq, err
	}
	for _, e := range events {
		for len(ends) > 0 && ends[0].Seq < e.Seq {
			entries, ends = append(entries, ends[0]), ends[1:]
		}
		if e.Event.App != "" { // else it was pruned during the read, with its names
			entries = append(entries, e)
		}
	}
	return append(entries, ends...), upTo, nil
}

// entryEnds returns the resolutions after seq up to upTo, each with its event.
func (t *Tables) entryEnds(ctx context.Context, seq, upTo int64) (ends []store.LogEntry, _ error) {
	found, err := collect(ctx, t, func(e *store.LogEntry) []any {
		e.Event = &store.Event{}
		return []any{&e.Seq, &e.Event.ID, &e.Event.Status}
	}, queryEntryEnds, seq, upTo)
	if err != nil {
		return nil, err
	}
	for _, end := range found {
		e, _, err := t.Event(ctx, end.Event.ID)
		if errors.Is(err, schema.ErrNotFound) {
			continue // pruned during the read
		}
		if err != nil {
			return nil, err
		}
		e.Status = end.Event.Status
		ends = append(ends, store.LogEntry{Seq: end.Seq, Event: e, Ends: true})
	}
	return ends, nil
}

// MeasureGrowth records committed rows. Changes that the projections ignore are no work.
func (t *Tables) MeasureGrowth(rows []store.LogRow) {
	if len(rows) == 0 {
		return
	}
	now := time.Now()
	for i := len(rows) - 1; i >= 0; i-- {
		if row := &rows[i]; !row.Change || row.Ends {
			t.State.Projected.Grow(row.Seq, now)
			break
		}
	}
	if first, last := rows[0].Seq, rows[len(rows)-1].Seq; lastFullBlock(first-1) != lastFullBlock(last) {
		t.State.Indexed.Grow(lastFullBlock(last), now)
		t.State.IndexerWake.Wake()
	}
}

// awaitReaders delays a plain event while the projections or the search index are far behind, so
// that they can catch up. Questions and answers do not wait.
func (t *Tables) awaitReaders(ctx context.Context) {
	now := time.Now()
	if delay := max(t.State.Projected.IngestDelay(now), t.State.Indexed.IngestDelay(now)); delay > 0 {
		feed.Sleep(ctx, delay) // Append checks ctx
	}
}
