package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/google/uuid"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// tx is the transaction of one group commit. It implements tables.Tx.
type tx struct {
	numberedNames
	work      *tables.Work
	w         *writer
	counters  counters
	hasWrites bool // of an op before the current one
}

// fatalError means that the transaction may be lost: the whole group fails.
type fatalError struct{ error }

func (f fatalError) Unwrap() error { return f.error }

func (t *tx) runAll(group []*tables.Op) error {
	for _, o := range group {
		o.Err = t.runOne(o)
		if f := (fatalError{}); errors.As(o.Err, &f) {
			return f.error
		}
	}
	return nil
}

// runOne runs one op. If it fails, only its own effects are undone.
func (t *tx) runOne(o *tables.Op) error {
	before, mark := t.counters, t.work.Mark()
	if o.Kind&tables.OneRow != 0 {
		t.hasWrites = true
		err := t.classifyError(t.work.Perform(o))
		if err != nil {
			before.lastNameID = t.counters.lastNameID // names that it inserted stay
			t.counters = before
			t.work.Undo(mark)
		}
		return err
	}
	var keep []string
	undo := []string{"ROLLBACK", "BEGIN IMMEDIATE"} // of a transaction with this op alone, as most are
	if t.hasWrites {
		keep, undo = []string{"RELEASE op"}, []string{"ROLLBACK TO op", "RELEASE op"}
		if err := t.Exec("SAVEPOINT op"); err != nil {
			return fatalError{err}
		}
	}
	err := t.classifyError(t.work.Perform(o))
	if err == nil {
		t.hasWrites = true
		return t.execAll(keep)
	}
	if lost := t.execAll(undo); lost != nil {
		if f := (fatalError{}); errors.As(err, &f) {
			return f // the reason for the loss, such as a full disk
		}
		return lost
	}
	if t.counters != before { // it may have inserted names and segment names
		t.ForgetNames()
	}
	t.counters = before
	t.work.Undo(mark)
	return err
}

// execAll runs statements without which the transaction is lost.
func (t *tx) execAll(list []string) error {
	for _, s := range list {
		if err := t.Exec(s); err != nil {
			return fatalError{err}
		}
	}
	return nil
}

// classifyError makes errors fatal after which SQLite may have rolled back.
func (t *tx) classifyError(err error) error {
	switch codeOf(err) & 0xff {
	case sqlite3.SQLITE_OK, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_ERROR:
		return err
	default:
		return fatalError{err}
	}
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
	return now.Pruned != stored.Pruned || now.Deleted != stored.Deleted ||
		now.lastNameID != stored.lastNameID || now.Head-stored.Head >= counterInterval
}

func (t *tx) writeCounters() error {
	c := &t.counters
	return t.Exec(`UPDATE streams SET head = $1, pruned = $2, events = $3, received = $4, name = $5, decided = $6`,
		c.Head, c.Pruned, c.Events, c.Received, c.lastNameID, c.Decided)
}

// writePage changes a page and restores it, so that the commit reaches the disk although its
// ops may have changed nothing.
func (t *tx) writePage() error {
	if err := t.Exec(`UPDATE streams SET head = head + 1`); err != nil {
		return err
	}
	return t.Exec(`UPDATE streams SET head = head - 1`)
}

// The writer's statements have no deadline: a canceled statement would leave the
// transaction open, where a later commit could include it.

func (t *tx) Exec(query string, args ...any) error {
	_, err := t.ExecCount(query, args...)
	return err
}

func (t *tx) ExecCount(query string, args ...any) (int64, error) {
	return t.w.statements.exec(context.Background(), query, args...)
}

// ExecOne implements tables.Tx. SQLite counts the rows, so it need not return one.
func (t *tx) ExecOne(guard tables.Guard, query string, args ...any) error {
	plain, _ := strings.CutSuffix(query, " RETURNING 1")
	n, err := t.ExecCount(plain, args...)
	if err == nil && n == 0 {
		return tables.GuardError(guard)
	}
	return err
}

func (t *tx) Get(into []any, query string, args ...any) (bool, error) {
	return t.w.statements.get(context.Background(), into, query, args...)
}

func (t *tx) Query(each func(tables.Rows) error, query string, args ...any) error {
	return t.w.statements.query(context.Background(), each, query, args...)
}

func (t *tx) EventByKey(key []byte) (seq int64, found bool, err error) {
	found, err = t.Get([]any{&seq}, tables.QueryByKey, key)
	return seq, found, err
}

func (t *tx) InsertEvent(e *store.Event, uid uuid.UUID, key []byte) error {
	ids, err := t.ensureNameIDs(e)
	if err == nil {
		err = t.Exec(`INSERT INTO events (seq, uid, received_at, timestamp, app, session, type, tool, asks, key, envelope, payload)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			int64(e.ID), uid[:], t.counters.Received, e.Timestamp, ids[0], ids[1], ids[2], ids[3],
			e.Question != nil, tables.Nullable(key), tables.NonNil(e.Envelope), tables.NonNil(e.Payload))
	}
	if err == nil {
		err = t.recordNames(int64(e.ID), ids)
	}
	return err
}

// InsertChange implements tables.Tx. Each change names the one before it. The question's row, which still names that
// one, is written once, with its update.
func (t *tx) InsertChange(seq int64, id schema.EventID, ends bool, status []byte) error {
	return t.Exec(`INSERT INTO changes (seq, question, previous, ends, status)
		SELECT $1, seq, last_change, $2, $3 FROM questions WHERE seq = $4`, seq, ends, status, id)
}

// DeleteChanges implements tables.Tx. It follows the changes of a question from the newest to the oldest,
// because an index for that would cost a page with every change.
func (t *tx) DeleteChanges(questions []int64) (n, last int64, err error) {
	for _, question := range questions {
		var seq int64
		if _, err := t.Get([]any{&seq}, `SELECT last_change FROM questions WHERE seq = $1`, question); err != nil {
			return 0, 0, err
		}
		for last = max(last, seq); seq > 0; n++ {
			change := seq
			found, err := t.Get([]any{&seq}, `DELETE FROM changes WHERE seq = $1 RETURNING previous`, change)
			if err == nil && !found {
				err = sql.ErrNoRows
			}
			if err != nil {
				return 0, 0, err
			}
		}
	}
	return n, last, nil
}

// Size implements tables.Tx. It does not count free pages.
func (t *tx) Size() (size int64, err error) {
	_, err = t.Get([]any{&size}, `SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`)
	return size, err
}

// ForgetNames drops cached names that a rollback or a removal may have invalidated.
func (t *tx) ForgetNames() {
	t.w.dictionary.clear()
	t.w.segmentNames.Clear()
}
