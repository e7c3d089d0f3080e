package sqlite

import (
	"context"
	"database/sql"
	"sync"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// statements caches the prepared statements of a connection or of a pool of connections.
type statements struct {
	db interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	names *dictionary
	mu    sync.RWMutex
	cache map[string]*sql.Stmt // by SQL text; guarded by mu
}

// maxStatements bounds the cache, because filters have statements of their own.
const maxStatements = 1000

// readers is the pool of read-only connections.
type readers struct {
	statements
	db *sql.DB
}

// prepare returns a statement with its arguments, and a function to call after its start.
func (s *statements) prepare(ctx context.Context, query string, args []any) (stmt *sql.Stmt, _ []any, started func(), err error) {
	if args, err = s.translateArgs(ctx, args); err != nil {
		return nil, nil, nil, err
	}
	started = func() {}
	s.mu.RLock()
	stmt, ok := s.cache[query]
	s.mu.RUnlock()
	if ok {
		return stmt, args, started, nil
	}
	if stmt, err = s.db.PrepareContext(ctx, translate(query)); err != nil {
		return nil, nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache == nil {
		s.cache = map[string]*sql.Stmt{}
	}
	if s.cache[query] != nil || len(s.cache) >= maxStatements {
		started = func() { _ = stmt.Close() } // rows keep it until they are closed
	} else {
		s.cache[query] = stmt
	}
	return stmt, args, started, nil
}

// query calls each for every row.
func (s *statements) query(ctx context.Context, each func(tables.Rows) error, query string, args ...any) error {
	stmt, args, started, err := s.prepare(ctx, query, args)
	if err != nil {
		return err
	}
	defer started()
	rows, err := stmt.QueryContext(ctx, args...)
	return eachRow(rows, err, each)
}

// exec returns the number of rows that a statement affected.
func (s *statements) exec(ctx context.Context, query string, args ...any) (int64, error) {
	stmt, args, started, err := s.prepare(ctx, query, args)
	if err != nil {
		return 0, err
	}
	defer started()
	r, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// get reads one row. found is false if there is none.
func (s *statements) get(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	stmt, args, started, err := s.prepare(ctx, query, args)
	if err != nil {
		return false, err
	}
	defer started()
	return tables.IsFound(stmt.QueryRowContext(ctx, args...).Scan(into...))
}

// getByKey is get for a statement that reads by key, which can't be interrupted: a context that
// can end costs two goroutines per statement, one in database/sql and one in the driver.
func (s *statements) getByKey(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return s.get(context.WithoutCancel(ctx), into, query, args...)
}

func (s *statements) close() {
	for _, stmt := range s.cache {
		_ = stmt.Close()
	}
}

// eachRow calls each for every row of a query, and closes rows.
func eachRow(rows *sql.Rows, err error, each func(tables.Rows) error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

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
