package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// tableEngine implements tables.Engine.
type tableEngine struct{ *engine }

func (e tableEngine) Write(ctx context.Context, kind tables.Change, run func(*tables.Work) error) error {
	return e.writer.do(ctx, &op{run: func(t *tx) error {
		t.changesPolicy = t.changesPolicy || kind&tables.Policy != 0
		return run(t.Work)
	}})
}

func (e tableEngine) Read(ctx context.Context, each func(tables.Rows) error, query string, args ...any) error {
	rows, err := e.readers.query(ctx, query, args...)
	return eachRow(rows, err, func(rows pgx.Rows) error { return each(rows) })
}

func (e tableEngine) ReadOne(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	return isFound(e.readers.get(ctx, into, query, args...))
}

func (e tableEngine) WriteJoined(ctx context.Context, until <-chan struct{}, run func(*tables.Work) error) error {
	return e.writer.join(ctx, &op{run: func(t *tx) error { return run(t.Work) }}, until)
}

func (e tableEngine) Queued() int { return len(e.writer.queue) }

func (tableEngine) NameColumn(_ *int64, text *string) any { return text }

func (tableEngine) NameText(_ context.Context, _ tables.NameKind, _ int64, text string) (string, error) {
	return text, nil
}

func isFound(err error) (bool, error) { return err == nil, ignoreNoRows(err) }

// Exec implements tables.Tx.
func (t *tx) Exec(query string, args ...any) error { return t.exec(query, args...) }

// ExecCount implements tables.Tx.
func (t *tx) ExecCount(query string, args ...any) (int64, error) { return t.execCount(query, args...) }

// Get implements tables.Tx.
func (t *tx) Get(into []any, query string, args ...any) (bool, error) {
	return isFound(t.get(into, query, args...))
}

// ExecOne implements tables.Tx.
func (t *tx) ExecOne(guard tables.Guard, query string, args ...any) error {
	return t.execOne(guard, query, args...)
}

// Query implements tables.Tx.
func (t *tx) Query(each func(tables.Rows) error, query string, args ...any) error {
	rows, err := t.query(query, args...)
	return eachRow(rows, err, func(rows pgx.Rows) error { return each(rows) })
}

// Head implements tables.Tx.
func (t *tx) Head() int64 { return t.counters.head }

// Chain implements tables.Tx.
func (t *tx) Chain() *tables.Chain { return &t.counters.chain }

// read returns the queries of the writer's connection.
func (w *writer) read(ctx context.Context) tables.Query {
	return func(each func(tables.Rows) error, query string, args ...any) error {
		rows, err := w.conn.Query(ctx, query, args...)
		return eachRow(rows, err, func(rows pgx.Rows) error { return each(rows) })
	}
}

// Pruned implements tables.Tx.
func (t *tx) Pruned() int64 { return t.counters.pruned }

// Count implements tables.Tx.
func (t *tx) Count(d tables.Delta) {
	t.counters.events += d.Events
	t.counters.bytes += d.Bytes
	t.counters.decided += d.Decided
	t.counters.pruned = max(t.counters.pruned, d.Pruned)
}

// InsertChange implements tables.Tx.
func (t *tx) InsertChange(id schema.EventID, ends bool, status []byte) (seq int64, err error) {
	seq = t.nextSeq()
	return seq, t.exec(`INSERT INTO changes (seq, question, ends, status) VALUES ($1, $2, $3, $4)`, seq, id, ends, status)
}

// PlaceOf implements tables.Tx.
func (t *tx) PlaceOf(address string) (owner, machine string) {
	return t.w.store.Self(), t.w.store.machineOf(address)
}

const deleteChanges = `WITH removed AS (DELETE FROM changes WHERE question = ANY($1) RETURNING seq)
	SELECT count(*), coalesce(max(seq), 0) FROM removed`

// DeleteChanges implements tables.Tx.
func (t *tx) DeleteChanges(questions []int64) (n, last int64, err error) {
	err = t.get([]any{&n, &last}, deleteChanges, questions)
	return n, last, err
}

// Size implements tables.Tx. The tables do not get smaller, but reuse the space.
func (t *tx) Size() (int64, error) { return t.counters.bytes, nil }

// ForgetNames implements tables.Tx: a later event of this group lists its names again.
func (t *tx) ForgetNames() { t.w.segmentNames.clear() }

// Now implements tables.Tx.
func (t *tx) Now() time.Time { return t.now }
