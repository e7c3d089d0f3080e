package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

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
	entries, upTo, isKept := t.State.Tail.Entries(reader, seq, limit)
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

// eventColumns, followed by listedPayload or fullPayload, are the columns that
// eventRow.dest scans. The columns of questions are NULL for an event without a
// question: the CASE in the join avoids the lookup.
const (
	eventColumns = `e.seq, e.uid, e.received_at, e.timestamp, e.app, e.session, e.type, e.tool, e.envelope, `
	fullPayload  = `e.payload, 0, `
	eventTables  = `events e LEFT JOIN questions q ON q.seq = CASE WHEN e.asks THEN e.seq END`
)

// listedPayload omits a big payload without reading its pages.
var listedPayload = `CASE WHEN length(e.payload) <= ` + strconv.Itoa(schema.MaxListed) + ` THEN e.payload END, length(e.payload), `

// eventRow is a scanned row of eventColumns.
type eventRow struct {
	seq, received int64
	uid           uuid.UUID
	names         [4]int64 // app, session, type, tool, of an engine with a dictionary
	payloadBytes  int
	event         store.Event
	transcript    []byte // only of destWithTranscript
}

func (r *eventRow) dest(names Names) []any {
	e := &r.event
	return []any{
		&r.seq, &r.uid, &r.received, &e.Timestamp, names.NameColumn(&r.names[0], &e.App), names.NameColumn(&r.names[1], &e.Session),
		names.NameColumn(&r.names[2], &e.Type), names.NameColumn(&r.names[3], &e.Tool),
		&e.Envelope, &e.Payload, &r.payloadBytes, &e.Question, &e.Status,
	}
}

// destWithTranscript is for queries that also select the transcript.
func (r *eventRow) destWithTranscript(names Names) []any { return append(r.dest(names), &r.transcript) }

// build converts a scanned row to an Event.
func (r *eventRow) build(ctx context.Context, names Names) (*store.Event, error) {
	e := &r.event
	e.ID, e.ReceivedAt, e.UID = schema.EventID(r.seq), Time(r.received), r.uid.String()
	if e.Payload == nil && r.payloadBytes > 0 {
		e.Payload, e.PayloadBytes = []byte("{}"), r.payloadBytes
	}
	return e, nameTexts(ctx, names, r.names[:], &e.App, &e.Session, &e.Type, &e.Tool)
}

// readEvents reads the events of a query, up to store.MaxPageBytes.
func (t *Tables) readEvents(ctx context.Context, query string, args ...any) ([]*store.Event, error) {
	events, _, err := t.readEventsUpTo(ctx, store.MaxPageBytes, query, args...)
	return events, err
}

// readEventsUpTo is like readEvents with another limit in bytes, and reports whether it
// stopped there.
func (t *Tables) readEventsUpTo(ctx context.Context, limit int, query string, args ...any) (events []*store.Event, full bool, _ error) {
	entries, full, err := t.scanEvents(ctx, limit, (*eventRow).dest, query, args...)
	events = make([]*store.Event, len(entries))
	for i := range entries {
		events[i] = entries[i].Event
	}
	return events, full, err
}

// errEnough ends a read.
var errEnough = errors.New("enough rows")

// readSome is Read for a function that may return errEnough.
func (t *Tables) readSome(ctx context.Context, each func(Rows) error, query string, args ...any) error {
	if err := t.Read(ctx, each, query, args...); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

// scanEvents reads events with what dest scans, up to a limit in bytes.
func (t *Tables) scanEvents(
	ctx context.Context, limit int, dest func(*eventRow, Names) []any, query string, args ...any,
) (entries []store.LogEntry, full bool, err error) {
	bytes := 0
	var scanned []*eventRow
	err = t.readSome(ctx, func(rows Rows) error {
		r := &eventRow{}
		if err := rows.Scan(dest(r, t)...); err != nil {
			return err
		}
		scanned = append(scanned, r)
		bytes += len(r.event.Envelope) + len(r.event.Payload) + len(r.event.Question) + len(r.event.Status) + len(r.transcript)
		if full = bytes >= limit; full {
			return errEnough
		}
		return nil
	}, query, args...)
	if err != nil {
		return nil, false, err
	}
	entries = make([]store.LogEntry, len(scanned))
	for i, r := range scanned {
		entries[i] = store.LogEntry{Seq: r.seq, Transcript: r.transcript}
		if entries[i].Event, err = r.build(ctx, t); err != nil {
			return nil, false, err
		}
	}
	return entries, full, nil
}

var queryEvent = `SELECT ` + eventColumns + fullPayload + `q.question, q.status, c.chat
	FROM ` + eventTables + ` LEFT JOIN chats c ON c.seq = e.seq
	WHERE e.seq = $1`

func (t *Tables) Event(ctx context.Context, id schema.EventID) (*store.Event, []byte, error) {
	var r eventRow
	if err := orNotFound(t.ReadOne(ctx, r.destWithTranscript(t), queryEvent, id)); err != nil {
		return nil, nil, err
	}
	e, err := r.build(ctx, t)
	return e, r.transcript, err
}

const (
	// The log tail has at most tailRows rows and tailBytes bytes, enough for a second of a flood.
	tailRows  = 8192
	tailBytes = 12 << 20
	// maxTailEntry is the size above which an entry is read from the database: events with a
	// transcript or a big payload are rare, and a few of them would displace all others.
	maxTailEntry = 64 << 10
)

// logTail holds the newest rows of the log in memory for the projector, the indexer and the reader
// of the ratings, so that they do not read and decode again the rows just written. Rows leave when all have read
// them, and the oldest ones when the tail is full.
type logTail struct {
	mu    sync.Mutex
	first int64     // seq of rows[0]
	rows  []tailRow // consecutive seqs
	bytes int
	read  [store.IndexReader + 1]int64 // newest row that each reader has finished
}

// tailRow is a row of the tail.
type tailRow struct {
	entry store.LogEntry // without an event: the row is no input of the projections
	isBig bool           // the entry is only in the database
	bytes int
}

// Append adds committed rows, and removes rows up to pruned. Their bytes belong to the posters, so
// it copies them.
func (l *logTail) Append(rows []store.LogRow, pruned int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range rows {
		row := &rows[i]
		if next := l.first + int64(len(l.rows)); row.Seq != next {
			l.first, l.rows, l.bytes = row.Seq, l.rows[:0], 0
		}
		added := newTailRow(row)
		l.rows = append(l.rows, added)
		l.bytes += added.bytes
	}
	l.trim(pruned)
}

func newTailRow(row *store.LogRow) tailRow {
	e := row.Event
	size := len(e.Envelope) + len(e.Payload) + len(e.Question) + len(e.Status)
	switch {
	case row.Change && !row.Ends:
		return tailRow{entry: store.LogEntry{Seq: row.Seq}}
	case row.HasTranscript || size > maxTailEntry:
		return tailRow{entry: store.LogEntry{Seq: row.Seq}, isBig: true}
	}
	own := *e
	buffer := make([]byte, 0, size)
	for _, b := range []*[]byte{&own.Envelope, &own.Payload, &own.Question, &own.Status} {
		if *b != nil {
			start := len(buffer)
			buffer = append(buffer, *b...)
			*b = buffer[start:len(buffer):len(buffer)]
		}
	}
	return tailRow{entry: store.LogEntry{Seq: row.Seq, Event: &own, Ends: row.Ends}, bytes: size}
}

// trim removes the rows that no reader needs, and those above the limits.
func (l *logTail) trim(pruned int64) {
	done := max(pruned, slices.Min(l.read[:]))
	n := 0
	for n < len(l.rows) && (l.first+int64(n) <= done || len(l.rows)-n > tailRows || l.bytes > tailBytes) {
		l.bytes -= l.rows[n].bytes
		l.rows[n] = tailRow{}
		n++
	}
	l.first, l.rows = l.first+int64(n), l.rows[n:]
}

// Entries returns the entries after seq, which the reader has finished, up to limit rows. upTo is
// the position that they reach. If ok is false, the next row is only in the database.
func (l *logTail) Entries(reader store.LogReader, seq int64, limit int) (entries []store.LogEntry, upTo int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read[reader] = seq
	at := seq + 1 - l.first
	if at < 0 || at >= int64(len(l.rows)) || l.rows[at].isBig {
		return nil, seq, false
	}
	rows := l.rows[at:min(at+int64(limit), int64(len(l.rows)))]
	entries = make([]store.LogEntry, 0, len(rows))
	for i := range rows {
		if rows[i].isBig {
			break
		}
		if rows[i].entry.Event != nil {
			entries = append(entries, rows[i].entry)
		}
		upTo = rows[i].entry.Seq
	}
	return entries, upTo, true
}
