package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/hookback/hookback/server/internal/store/tables"
)

// tableEngine implements tables.Engine.
type tableEngine struct{ *engine }

func (e tableEngine) Write(ctx context.Context, kind tables.Change, run func(*tables.Work) error) error {
	return e.writer.do(ctx, &op{essential: kind&tables.Essential != 0, needsSavepoint: true, run: func(t *tx) error { return run(t.Work) }})
}

func (e tableEngine) Read(ctx context.Context, each func(tables.Rows) error, query string, args ...any) error {
	rows, err := e.readers.query(ctx, query, args...)
	return eachRow(rows, err, func(rows *sql.Rows) error { return each(rows) })
}

func (e tableEngine) ReadOne(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	return isFound(e.readers.getByKey(ctx, into, query, args...))
}

func isFound(err error) (bool, error) { return err == nil, ignoreNoRows(err) }

// Exec implements tables.Tx.
func (t *tx) Exec(query string, args ...any) error {
	_, err := t.exec(query, args...)
	return err
}

// ExecCount implements tables.Tx.
func (t *tx) ExecCount(query string, args ...any) (int64, error) { return t.exec(query, args...) }

// Get implements tables.Tx.
func (t *tx) Get(into []any, query string, args ...any) (bool, error) {
	return isFound(t.get(into, query, args...))
}

// ExecOne implements tables.Tx.
func (t *tx) ExecOne(guard tables.Guard, query string, args ...any) error {
	var one int
	found, err := t.Get([]any{&one}, query, args...)
	if err == nil && !found {
		return tables.GuardError(guard)
	}
	return err
}

// Query implements tables.Tx.
func (t *tx) Query(each func(tables.Rows) error, query string, args ...any) error {
	rows, err := t.query(query, args...)
	return eachRow(rows, err, func(rows *sql.Rows) error { return each(rows) })
}

// Chain implements tables.Tx.
func (t *tx) Chain() *tables.Chain { return &t.counters.chain }

// AfterCommit implements tables.Tx.
func (t *tx) AfterCommit(f func()) { t.committed = append(t.committed, f) }

// read returns the queries of the connection that writes.
func (w *writer) read(ctx context.Context) tables.Query {
	return func(each func(tables.Rows) error, query string, args ...any) error {
		rows, err := w.conn.QueryContext(ctx, translate(query), args...)
		return eachRow(rows, err, func(rows *sql.Rows) error { return each(rows) })
	}
}

// Head implements tables.Tx.
func (t *tx) Head() int64 { return t.counters.head }

// Now implements tables.Tx.
func (t *tx) Now() time.Time { return t.now }
