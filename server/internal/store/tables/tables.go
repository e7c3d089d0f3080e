// Package tables stores the tables that have the same columns and statements in every engine. Its SQL has
// the placeholders $1, $2 …, which SQLite and PostgreSQL both read.
package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Tx is a transaction of an engine.
type Tx interface {
	Exec(query string, args ...any) error
	// ExecCount returns the number of rows that the statement affected.
	ExecCount(query string, args ...any) (int64, error)
	// Get reads one row. found is false if there is none.
	Get(into []any, query string, args ...any) (found bool, err error)
	AppendLedger(records ...store.LedgerRecord) error
	Now() time.Time
}

// Change are the properties of a write.
type Change int

// The properties.
const (
	Plain     Change = 0
	Essential Change = 1 << iota // also on a nearly full disk
	Policy                       // of accounts, rules or settings, which other hubs have to read again
)

// Rows are the rows of a query.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}

// Engine runs statements and transactions.
type Engine interface {
	Write(ctx context.Context, kind Change, run func(Tx) error) error
	// Read calls each for every row.
	Read(ctx context.Context, each func(Rows) error, query string, args ...any) error
	ReadOne(ctx context.Context, into []any, query string, args ...any) (found bool, err error)
}

// Tables implements the roles of store.Store whose tables are the same in every engine.
type Tables struct{ Engine }

func list[T any](ctx context.Context, e Engine, fields func(*T) []any, query string, args ...any) (all []T, err error) {
	err = e.Read(ctx, func(rows Rows) error {
		all = append(all, *new(T))
		return rows.Scan(fields(&all[len(all)-1])...)
	}, query, args...)
	return all, err
}

func one[T any](ctx context.Context, e Engine, fields func(*T) []any, query string, args ...any) (v T, err error) {
	found, err := e.ReadOne(ctx, fields(&v), query, args...)
	return v, orNotFound(found, err)
}

func orNotFound(found bool, err error) error {
	if err == nil && !found {
		return schema.ErrNotFound
	}
	return err
}

func (t Tables) exec(ctx context.Context, kind Change, query string, args ...any) error {
	return t.Write(ctx, kind, func(tx Tx) error { return tx.Exec(query, args...) })
}
