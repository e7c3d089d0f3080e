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
	mu    sync.RWMutex
	cache map[string]*sql.Stmt // by SQL text, for constant statements; guarded by mu
}

// readers is the pool of read-only connections.
type readers struct {
	statements
	db *sql.DB
}

func (s *statements) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt, ok := s.cache[query]
	s.mu.RUnlock()
	if ok {
		return stmt, nil
	}
	stmt, err := s.db.PrepareContext(ctx, translate(query))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.cache[query]; ok {
		_ = stmt.Close()
		return first, nil
	}
	if s.cache == nil {
		s.cache = map[string]*sql.Stmt{}
	}
	s.cache[query] = stmt
	return stmt, nil
}

func (s *statements) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, translateArgs(args)...)
}

// get reads one row. It returns sql.ErrNoRows if there is none.
func (s *statements) get(ctx context.Context, into []any, query string, args ...any) error {
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, translateArgs(args)...).Scan(into...)
}

// getByKey is get for a statement that reads by key, which can't be interrupted: a context that
// can end costs two goroutines per statement, one in database/sql and one in the driver.
func (s *statements) getByKey(ctx context.Context, into []any, query string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.get(context.WithoutCancel(ctx), into, query, args...)
}

func (s *statements) close() {
	for _, stmt := range s.cache {
		_ = stmt.Close()
	}
}

// ignoreNoRows drops the error of get if there was no row.
func ignoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
