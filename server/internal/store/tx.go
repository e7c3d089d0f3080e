package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// tx is the transaction of a group.
type tx struct {
	w        *writer
	counters counters
	now      time.Time // one for all that is in it
	rows     []LogRow  // to publish
}

// A fatalError leaves the transaction in doubt; the whole group fails with it.
type fatalError struct{ error }

func (f fatalError) Unwrap() error { return f.error }

func (t *tx) runAll(group []*op) error {
	for _, o := range group {
		o.err = t.runOne(o)
		if f := (fatalError{}); errors.As(o.err, &f) {
			return f.error
		}
	}
	return nil
}

// runOne runs one op, whose failure undoes nothing but itself.
func (t *tx) runOne(o *op) error {
	before, rows := t.counters, len(t.rows)
	if !o.needsSavepoint {
		err := t.classifyError(o.run(t))
		if err != nil {
			before.lastNameID = t.counters.lastNameID // the names it made are there
			t.counters, t.rows = before, t.rows[:rows]
		}
		return err
	}
	if _, err := t.exec("SAVEPOINT op"); err != nil {
		return fatalError{err}
	}
	err := t.classifyError(o.run(t))
	if err != nil {
		if _, undo := t.exec("ROLLBACK TO op"); undo != nil {
			return fatalError{err}
		}
		if t.counters != before { // it had made names and marks, perhaps
			t.clearCaches()
		}
		t.counters, t.rows = before, t.rows[:rows]
	}
	if _, release := t.exec("RELEASE op"); release != nil {
		return fatalError{release}
	}
	return err
}

// classifyError makes errors after which SQLite may have rolled back fatal.
func (t *tx) classifyError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_ERROR:
		return err
	default:
		return fatalError{err}
	}
}

// clearCaches drops what the caches may hold of a transaction that is undone.
func (t *tx) clearCaches() {
	t.w.dictionary.clear()
	t.w.segmentNames.clear()
}

// writeCounters writes the counters in the transaction that they count.
func (t *tx) writeCounters() error {
	if t.counters == t.w.counters {
		return nil
	}
	_, err := t.exec(`UPDATE streams SET head = ?, pruned = ?, events = ?, received = ?, name = ? WHERE stream_id = 1`,
		t.counters.head, t.counters.pruned, t.counters.events, t.counters.received, t.counters.lastNameID)
	return err
}

// nextSeq gives out the log's next number.
func (t *tx) nextSeq() int64 {
	t.counters.head++
	return t.counters.head
}

// The writer's statements have no deadline: one that is cancelled would leave the
// transaction open, and committable.

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s, ok := t.w.stmts[query]; ok {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	t.w.stmts[query] = s
	return s, nil
}

func (t *tx) exec(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

// get reads one row; sql.ErrNoRows when there is none.
func (t *tx) get(into []any, query string, args ...any) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(context.Background(), args...).Scan(into...)
}
