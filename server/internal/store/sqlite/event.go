package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// eventColumns, followed by listedPayload or fullPayload, are the columns that
// eventRow.dest scans. The columns of questions are NULL for an event without a
// question: the iif in the join avoids the lookup.
const (
	eventColumns = `e.seq, e.uid, e.received_at, e.timestamp, e.app, e.session, e.type, e.tool, e.envelope, `
	fullPayload  = `e.payload, 0, `
	eventTables  = `events e LEFT JOIN questions q ON q.seq = iif(e.asks, e.seq, NULL)`
)

// listedPayload omits a big payload without reading its pages.
var listedPayload = `iif(length(e.payload) > ` + strconv.Itoa(schema.MaxListed) + `, NULL, e.payload), length(e.payload), `

// eventRow is a scanned row of eventColumns.
type eventRow struct {
	seq, received int64
	uid           []byte
	ids           nameIDs
	payloadBytes  int
	event         store.Event
	transcript    []byte // only of destWithTranscript
}

func (r *eventRow) dest() []any {
	e := &r.event
	return []any{
		&r.seq, &r.uid, &r.received, &e.Timestamp, &r.ids.app, &r.ids.session, &r.ids.typ, &r.ids.tool,
		&e.Envelope, &e.Payload, &r.payloadBytes, &e.Question, &e.Status,
	}
}

// destWithTranscript is for queries that also select the transcript.
func (r *eventRow) destWithTranscript() []any { return append(r.dest(), &r.transcript) }

// buildEvent converts a scanned row to an Event and resolves its names.
func (s *engine) buildEvent(ctx context.Context, r *eventRow) (*store.Event, error) {
	return r.build(ctx, s.dictionary, &s.readers.statements)
}

// build converts the row to an Event and resolves its names.
func (r *eventRow) build(ctx context.Context, names *dictionary, from *statements) (*store.Event, error) {
	e := &r.event
	e.ID, e.ReceivedAt = schema.EventID(r.seq), kit.Time(r.received)
	uid, err := uuid.FromBytes(r.uid)
	if err != nil {
		return nil, err
	}
	e.UID = uid.String()
	if e.Payload == nil && r.payloadBytes > 0 {
		e.Payload, e.PayloadBytes = []byte("{}"), r.payloadBytes
	}
	for _, n := range []struct {
		dest *string
		kind nameKind
		id   int64
	}{{&e.App, appName, r.ids.app}, {&e.Session, sessionName, r.ids.session}, {&e.Type, typeName, r.ids.typ}, {&e.Tool, toolName, r.ids.tool}} {
		if *n.dest, err = names.nameText(ctx, from, n.kind, n.id); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// readEvents reads rows into events, up to store.MaxPageBytes.
func (s *engine) readEvents(ctx context.Context, rows *sql.Rows, err error) ([]*store.Event, error) {
	events, _, err := s.readEventsUpTo(ctx, store.MaxPageBytes, rows, err)
	return events, err
}

// readEventsUpTo is like readEvents with another limit in bytes, and reports whether it
// stopped there. It closes rows before it resolves names: a reader must not wait for a
// second connection while it holds one.
func (s *engine) readEventsUpTo(ctx context.Context, limit int, rows *sql.Rows, err error) (events []*store.Event, full bool, _ error) {
	scanned, full, err := scanEvents(rows, err, limit, (*eventRow).dest)
	if err != nil {
		return nil, false, err
	}
	events = make([]*store.Event, len(scanned))
	for i, r := range scanned {
		if events[i], err = s.buildEvent(ctx, r); err != nil {
			return nil, false, err
		}
	}
	return events, full, nil
}

func scanEvents(rows *sql.Rows, err error, limit int, dest func(*eventRow) []any) (scanned []*eventRow, full bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
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
	WHERE e.seq = ?`

func (s *engine) Event(ctx context.Context, id schema.EventID) (*store.Event, []byte, error) {
	var r eventRow
	err := s.readers.getByKey(ctx, r.destWithTranscript(), queryEvent, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, schema.ErrNotFound
	}
	if err != nil {
		return nil, nil, err
	}
	e, err := s.buildEvent(ctx, &r)
	return e, r.transcript, err
}
