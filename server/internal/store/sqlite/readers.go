package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// readers is the pool of read-only connections and their prepared statements.
type readers struct {
	db    *sql.DB
	stmts sync.Map // SQL text → *sql.Stmt, for constant statements
}

func (r *readers) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := r.stmts.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := r.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if first, loaded := r.stmts.LoadOrStore(query, s); loaded {
		_ = s.Close()
		return first.(*sql.Stmt), nil
	}
	return s, nil
}

func (r *readers) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := r.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// get reads one row. It returns sql.ErrNoRows if there is none.
func (r *readers) get(ctx context.Context, into []any, query string, args ...any) error {
	s, err := r.stmt(ctx, query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(into...)
}
