package sqlite

import (
	"context"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// tableEngine implements tables.Engine.
type tableEngine struct {
	numberedNames
	*tables.Queue
	s *engine
}

func (e tableEngine) Read(ctx context.Context, each func(tables.Rows) error, query string, args ...any) error {
	return e.s.readers.query(ctx, each, query, args...)
}

func (e tableEngine) ReadOne(ctx context.Context, into []any, query string, args ...any) (bool, error) {
	return e.s.readers.getByKey(ctx, into, query, args...)
}

// numberedNames implements tables.Names with the statements of a connection.
type numberedNames struct{ from *statements }

func (n numberedNames) NameColumn(number *int64, _ *string) any { return number }

func (n numberedNames) NameText(ctx context.Context, kind tables.NameKind, number int64, _ string) (string, error) {
	return n.from.names.nameText(ctx, n.from, kind, number)
}

func (e tableEngine) Member() string { return e.s.Self() }

func (e tableEngine) Place() (p store.Place) { return p }

func (e tableEngine) RequireCurrent(store.Authority) error { return nil }

// exec returns a function that executes statements on the connection that writes.
func (w *writer) exec(ctx context.Context) func(query string, args ...any) error {
	return func(query string, args ...any) error {
		_, err := w.conn.ExecContext(ctx, translate(query), args...)
		return err
	}
}

// read returns the queries of the connection that writes.
func (w *writer) read(ctx context.Context) tables.Query {
	return func(each func(tables.Rows) error, query string, args ...any) error {
		rows, err := w.conn.QueryContext(ctx, translate(query), args...)
		return eachRow(rows, err, each)
	}
}
