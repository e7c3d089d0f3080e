package postgres

import (
	"github.com/google/uuid"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// eventRow is an event to insert, with its idempotency key; nil: none.
type eventRow struct {
	*store.Event
	uid uuid.UUID
	key []byte
}

const (
	insertEvents = `INSERT INTO events (seq, uid, received_at, timestamp, app, session, type, tool, asks, key, envelope, payload)
		SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[], $10::bytea[], $11::bytea[], $12::bytea[])`
	insertNames = `WITH listed AS (SELECT * FROM unnest($1::smallint[], $2::text[], $3::bigint[], $4::bigint[]) AS n (kind, name, zone, first)),
		zoned AS (INSERT INTO zones (kind, name, zone) SELECT kind, name, zone FROM listed ON CONFLICT DO NOTHING)
		INSERT INTO names (kind, name, id) SELECT kind, name, min(first) FROM listed GROUP BY kind, name ON CONFLICT DO NOTHING`
)

// queueEvents adds the statements for the collected events to the transaction, in front of the statements
// that may refer to them.
func (t *tx) queueEvents() {
	if len(t.events) == 0 {
		return
	}
	later := t.batch.QueuedQueries
	t.batch.QueuedQueries = nil
	t.batch.Queue(insertEvents,
		column(t.events, func(e *eventRow) int64 { return int64(e.ID) }), column(t.events, func(e *eventRow) [16]byte { return e.uid }),
		column(t.events, func(e *eventRow) int64 { return e.ReceivedAt.UnixMilli() }),
		column(t.events, func(e *eventRow) int64 { return e.Timestamp }),
		column(t.events, func(e *eventRow) string { return e.App }), column(t.events, func(e *eventRow) string { return e.Session }),
		column(t.events, func(e *eventRow) string { return e.Type }), column(t.events, func(e *eventRow) string { return e.Tool }),
		column(t.events, func(e *eventRow) bool { return e.Question != nil }), column(t.events, func(e *eventRow) []byte { return e.key }),
		column(t.events, func(e *eventRow) []byte { return tables.NonNil(e.Envelope) }),
		column(t.events, func(e *eventRow) []byte { return tables.NonNil(e.Payload) }))
	t.queueNames()
	t.batch.QueuedQueries = append(t.batch.QueuedQueries, later...)
	t.events = nil
}

// column returns a value of each event.
func column[T any](events []eventRow, of func(*eventRow) T) []T {
	values := make([]T, len(events))
	for i := range events {
		values[i] = of(&events[i])
	}
	return values
}

// queueNames records in the zone map which names the events have that are new in their segment of the log.
func (t *tx) queueNames() {
	var kinds []int16
	var names []string
	var zones, firsts []int64
	for _, e := range t.events {
		for i, text := range [...]string{e.App, e.Session, e.Type, e.Tool} {
			key := tables.Name{Kind: tables.NameKind(i + 1), Text: text}
			if text == "" {
				continue
			}
			if segment, isNew := t.w.segmentNames.Add(int64(e.ID), key); isNew {
				kinds, names = append(kinds, int16(key.Kind)), append(names, text)
				zones, firsts = append(zones, segment), append(firsts, int64(e.ID))
			}
		}
	}
	if len(kinds) > 0 {
		t.batch.Queue(insertNames, kinds, names, zones, firsts)
	}
}
