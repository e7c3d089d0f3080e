package postgres

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// eventColumns, followed by listedPayload or fullPayload, are the columns that
// eventRow.dest scans. The columns of questions are NULL for an event without a
// question, which is not looked up.
const (
	eventColumns = `e.seq, e.uid, e.received_at, e.timestamp, e.app, e.session, e.type, e.tool, e.envelope, `
	fullPayload  = `e.payload, 0, `
	eventTables  = `events e LEFT JOIN questions q ON e.asks AND q.seq = e.seq`
)

// listedPayload omits a big payload without reading its pages.
var listedPayload = `CASE WHEN octet_length(e.payload) <= ` + strconv.Itoa(schema.MaxListed) + ` THEN e.payload END, octet_length(e.payload), `

// eventRow is a scanned row of eventColumns.
type eventRow struct {
	seq, received int64
	uid           uuid.UUID
	payloadBytes  int
	event         store.Event
	transcript    []byte // only of destWithTranscript
}

func (r *eventRow) dest() []any {
	e := &r.event
	return []any{
		&r.seq, (*[16]byte)(&r.uid), &r.received, &e.Timestamp, &e.App, &e.Session, &e.Type, &e.Tool,
		&e.Envelope, &e.Payload, &r.payloadBytes, &e.Question, &e.Status,
	}
}

// destWithTranscript is for queries that also select the transcript.
func (r *eventRow) destWithTranscript() []any { return append(r.dest(), &r.transcript) }

// build converts a scanned row to an Event.
func (r *eventRow) build() *store.Event {
	e := &r.event
	e.ID, e.ReceivedAt, e.UID = schema.EventID(r.seq), kit.Time(r.received), r.uid.String()
	if e.Payload == nil && r.payloadBytes > 0 {
		e.Payload, e.PayloadBytes = []byte("{}"), r.payloadBytes
	}
	return e
}

// readEvents reads rows into events, up to store.MaxPageBytes.
func readEvents(rows pgx.Rows, err error) ([]*store.Event, error) {
	events, _, err := readEventsUpTo(store.MaxPageBytes, rows, err)
	return events, err
}

// readEventsUpTo is like readEvents with another limit in bytes, and reports whether it
// stopped there.
func readEventsUpTo(limit int, rows pgx.Rows, err error) (events []*store.Event, full bool, _ error) {
	scanned, full, err := scanEvents(rows, err, limit, (*eventRow).dest)
	if err != nil {
		return nil, false, err
	}
	events = make([]*store.Event, len(scanned))
	for i, r := range scanned {
		events[i] = r.build()
	}
	return events, full, nil
}

func scanEvents(rows pgx.Rows, err error, limit int, dest func(*eventRow) []any) (scanned []*eventRow, full bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	bytes := 0
	for bytes < limit && rows.Next() {
		r := &eventRow{}
		if err := rows.Scan(dest(r)...); err != nil {
			return nil, false, err
		}
		bytes += len(r.event.Envelope) + len(r.event.Payload) + len(r.event.Question) + len(r.event.Status) + len(r.transcript)
		scanned = append(scanned, r)
	}
	return scanned, bytes >= limit, rows.Err()
}

var queryEvent = `SELECT ` + eventColumns + fullPayload + `q.question, q.status, c.chat
	FROM ` + eventTables + ` LEFT JOIN chats c ON c.seq = e.seq
	WHERE e.seq = $1`

func (s *engine) Event(ctx context.Context, id schema.EventID) (*store.Event, []byte, error) {
	var r eventRow
	err := s.readers.get(ctx, r.destWithTranscript(), queryEvent, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, schema.ErrNotFound
	}
	if err != nil {
		return nil, nil, err
	}
	return r.build(), r.transcript, nil
}
