package tables

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

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
func (r *eventRow) build(ctx context.Context, names Names) (_ *store.Event, err error) {
	e := &r.event
	e.ID, e.ReceivedAt, e.UID = schema.EventID(r.seq), Time(r.received), r.uid.String()
	if e.Payload == nil && r.payloadBytes > 0 {
		e.Payload, e.PayloadBytes = []byte("{}"), r.payloadBytes
	}
	for i, text := range [...]*string{&e.App, &e.Session, &e.Type, &e.Tool} {
		if *text, err = names.NameText(ctx, NameKind(i+1), r.names[i], *text); err != nil {
			return nil, err
		}
	}
	return e, nil
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
	found, err := t.ReadOne(ctx, r.destWithTranscript(t), queryEvent, id)
	if err := orNotFound(found, err); err != nil {
		return nil, nil, err
	}
	e, err := r.build(ctx, t)
	return e, r.transcript, err
}
