package store

import (
	"context"
	"iter"
)

// CopySource is a database that Copy of another engine reads. No hub has it open.
type CopySource interface {
	// State describes the state that the copy is compared with.
	State() CopyState
	// Columns returns the columns of a table that the source has, by their names in the target, or
	// nil if it has no such table. Names are text, not ids of a dictionary.
	Columns(table string) []string
	// Rows returns the rows of a table, in the ascending order of the column order; empty: in any order. The
	// values are int64, float64, string, []byte or nil, and valid until the next row. An error is the last row.
	Rows(ctx context.Context, table string, columns []string, order string) iter.Seq2[[]any, error]
}

// CopyState identifies a hub's database and the end of its logs.
type CopyState struct {
	HubID     string
	KeyFile   string // with the hub's key
	Head      int64
	Pruned    int64
	Received  int64  // the time of the newest event, Unix milliseconds
	Events    int64  // number of events
	Newest    int64  // the newest event that is left; 0: none
	NewestUID []byte // its UID, 16 bytes
	ChainN    int64  // last entry of the audit log; 0: none
	ChainHash string
}

// CopyProgress is a step of a copy. Total is 0 if it is not known.
type CopyProgress struct {
	Table       string
	IsCheck     bool // the copied rows are compared
	Rows, Total int64
}

// CopyReport is the result of a copy.
type CopyReport struct {
	// Repeated is set if the target already had everything, from a copy that was not reported.
	Repeated bool
	Rows     int64
	Bytes    int64 // of the rows
	Merged   int64 // rows that the target has in another row, because their names became equal
}
