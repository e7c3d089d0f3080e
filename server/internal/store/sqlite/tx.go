package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hookback/hookback/server/internal/store/tables"
)

// tx is the transaction of one group commit.
type tx struct {
	*tables.Work
	tables.Names
	w        *writer
	counters counters
	now      time.Time // the same for all ops of the group
}

// fatalError means that the transaction may be lost: the whole group fails.
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

// runOne runs one op. If it fails, only its own effects are undone.
func (t *tx) runOne(o *op) error {
	before, mark := t.counters, t.Mark()
	if !o.needsSavepoint {
		err := t.classifyError(o.run(t))
		if err != nil {
			before.lastNameID = t.counters.lastNameID // names that it inserted stay
			t.counters = before
			t.Undo(mark)
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
		if t.counters != before { // it may have inserted names and segment names
			t.clearCaches()
		}
		t.counters = before
		t.Undo(mark)
	}
	if _, release := t.exec("RELEASE op"); release != nil {
		return fatalError{release}
	}
	return err
}

// classifyError makes errors fatal after which SQLite may have rolled back.
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

// clearCaches drops cached names that a rollback or a removal may have invalidated.
func (t *tx) clearCaches() {
	t.w.dictionary.clear()
	t.w.segmentNames.clear()
}

// counterInterval is the number of log rows after which the table streams is written again.
// readCounters reads at most this many rows.
const counterInterval = 1024

// mustWriteCounters reports whether this transaction has to write the counters. They advance
// with every event, and a page per commit for them would be a quarter of its pages. Rows
// appended after the last write are counted again by readCounters, so only a change that
// can't be counted has to be written.
func (t *tx) mustWriteCounters() bool {
	now, stored := &t.counters, &t.w.stored
	return now.pruned != stored.pruned || now.deleted != stored.deleted ||
		now.lastNameID != stored.lastNameID || now.head-stored.head >= counterInterval
}

func (t *tx) writeCounters() error {
	_, err := t.exec(`UPDATE streams SET head = ?, pruned = ?, events = ?, received = ?, name = ?, decided = ?`,
		t.counters.head, t.counters.pruned, t.counters.events, t.counters.received, t.counters.lastNameID, t.counters.decided)
	return err
}

// writePage changes a page and restores it, so that the commit reaches the disk although its
// ops may have changed nothing.
func (t *tx) writePage() error {
	_, err := t.exec(`UPDATE streams SET head = head + 1`)
	if err == nil {
		_, err = t.exec(`UPDATE streams SET head = head - 1`)
	}
	return err
}

// nextSeq assigns the next sequence number of the log.
func (t *tx) nextSeq() int64 {
	t.counters.head++
	return t.counters.head
}

// The writer's statements have no deadline: a canceled statement would leave the
// transaction open, where a later commit could include it.

func (t *tx) exec(query string, args ...any) (int64, error) {
	return t.w.statements.exec(context.Background(), query, args...)
}

func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	return t.w.statements.query(context.Background(), query, args...)
}

// get reads one row. It returns sql.ErrNoRows if there is none.
func (t *tx) get(into []any, query string, args ...any) error {
	return t.w.statements.get(context.Background(), into, query, args...)
}
