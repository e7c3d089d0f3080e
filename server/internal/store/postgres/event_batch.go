package postgres

import (
	"github.com/google/uuid"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// eventBatch collects the rows of events for one statement, and the names that are new in their
// segment of the log.
type eventBatch struct {
	w *writer

	seqs, received, timestamps []int64
	uids                       [][16]byte
	names                      [4][]string // app, session, type, tool
	asks                       []bool
	keys, envelopes, payloads  [][]byte
}

func newEventBatch(w *writer) eventBatch { return eventBatch{w: w} }

func (b *eventBatch) len() int { return len(b.seqs) }

// add adds an event with its idempotency key; nil: none.
func (b *eventBatch) add(e *store.Event, uid uuid.UUID, key []byte) {
	b.seqs, b.received, b.timestamps =
		append(b.seqs, int64(e.ID)), append(b.received, e.ReceivedAt.UnixMilli()), append(b.timestamps, e.Timestamp)
	b.uids, b.asks, b.keys = append(b.uids, uid), append(b.asks, e.Question != nil), append(b.keys, key)
	b.envelopes, b.payloads = append(b.envelopes, tables.NonNil(e.Envelope)), append(b.payloads, tables.NonNil(e.Payload))
	for i, name := range [...]string{e.App, e.Session, e.Type, e.Tool} {
		b.names[i] = append(b.names[i], name)
	}
}

func (b *eventBatch) truncate(n int) {
	b.seqs, b.received, b.timestamps, b.uids, b.asks = b.seqs[:n], b.received[:n], b.timestamps[:n], b.uids[:n], b.asks[:n]
	b.keys, b.envelopes, b.payloads = b.keys[:n], b.envelopes[:n], b.payloads[:n]
	for i := range b.names {
		b.names[i] = b.names[i][:n]
	}
}

const (
	insertEvents = `INSERT INTO events (seq, uid, received_at, timestamp, app, session, type, tool, asks, key, envelope, payload)
		SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::boolean[], $10::bytea[], $11::bytea[], $12::bytea[])`
	insertNames = `WITH listed AS (SELECT * FROM unnest($1::smallint[], $2::text[], $3::bigint[], $4::bigint[]) AS n (kind, name, zone, first)),
		zoned AS (INSERT INTO zones (kind, name, zone) SELECT kind, name, zone FROM listed ON CONFLICT DO NOTHING)
		INSERT INTO names (kind, name, id) SELECT kind, name, min(first) FROM listed GROUP BY kind, name ON CONFLICT DO NOTHING`
)

// queue adds the statements for the collected rows to the transaction, in front of the statements
// that may refer to them.
func (b *eventBatch) queue(t *tx) {
	if b.len() == 0 {
		return
	}
	later := t.batch.QueuedQueries
	t.batch.QueuedQueries = nil
	t.batch.Queue(insertEvents, b.seqs, b.uids, b.received, b.timestamps, b.names[0],
		b.names[1], b.names[2], b.names[3], b.asks, b.keys, b.envelopes, b.payloads)
	b.queueNames(t)
	t.batch.QueuedQueries = append(t.batch.QueuedQueries, later...)
	*b = newEventBatch(b.w)
}

// queueNames records in the zone map which names the events have.
func (b *eventBatch) queueNames(t *tx) {
	var kinds []int16
	var names []string
	var zones, firsts []int64
	for i, seq := range b.seqs {
		for kind := range b.names {
			key := tables.Name{Kind: tables.NameKind(kind + 1), Text: b.names[kind][i]}
			if key.Text == "" {
				continue
			}
			if segment, isNew := b.w.segmentNames.Add(seq, key); isNew {
				kinds, names = append(kinds, int16(key.Kind)), append(names, key.Text)
				zones, firsts = append(zones, segment), append(firsts, seq)
			}
		}
	}
	if len(kinds) > 0 {
		t.batch.Queue(insertNames, kinds, names, zones, firsts)
	}
}
