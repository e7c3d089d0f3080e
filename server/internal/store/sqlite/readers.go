package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// statements caches the prepared statements of a connection or of a pool of connections.
type statements struct {
	db interface {
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	cache sync.Map // SQL text → *sql.Stmt, for constant statements
}

// readers is the pool of read-only connections.
type readers struct {
	statements
	db *sql.DB
}

func (s *statements) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := s.cache.Load(query); ok {
		return stmt.(*sql.Stmt), nil
	}
	stmt, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if first, loaded := s.cache.LoadOrStore(query, stmt); loaded {
		_ = stmt.Close()
		return first.(*sql.Stmt), nil
	}
	return stmt, nil
}

func (s *statements) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// get reads one row. It returns sql.ErrNoRows if there is none.
func (s *statements) get(ctx context.Context, into []any, query string, args ...any) error {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, args...).Scan(into...)
}

func (s *statements) close() {
	for _, stmt := range s.cache.Range {
		_ = stmt.(*sql.Stmt).Close()
	}
}

// ignoreNoRows drops the error of get if there was no row.
func ignoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
