// Package tables stores the tables that have the same columns and statements in every engine. Its SQL is
// PostgreSQL's; the SQLite engine translates the few words that it spells differently (see sqlite/dialect.go).
package tables

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
)

// Tx runs the statements of a transaction of an engine.
type Tx interface {
	// Exec executes a statement, at the latest when the transaction is committed.
	Exec(query string, args ...any) error
	// ExecCount returns the number of rows that the statement affected.
	ExecCount(query string, args ...any) (int64, error)
	// ExecOne is Exec for a statement that has to affect one row and ends with RETURNING 1. Otherwise the write
	// fails with GuardError, possibly only when the transaction is committed.
	ExecOne(guard Guard, query string, args ...any) error
	// Get reads one row. found is false if there is none.
	Get(into []any, query string, args ...any) (found bool, err error)
	// Query calls each for every row. each runs no statement.
	Query(each func(Rows) error, query string, args ...any) error
	// EventByKey returns the event with the hash of an idempotency key.
	EventByKey(key []byte) (seq int64, found bool, err error)
	// InsertEvent stores the row of an event and its names, which it may clean. key is nil without an idempotency key.
	InsertEvent(e *store.Event, uid uuid.UUID, key []byte) error
	// InsertChange stores the row of the log for a change of a question, with the question's status after it. The
	// next statement updates the question: on SQLite it takes last_change from last_insert_rowid().
	InsertChange(seq int64, id schema.EventID, ends bool, status []byte) error
	// DeleteChanges removes the changes of questions. last is the highest sequence number of them.
	DeleteChanges(questions []int64) (n, last int64, err error)
	// Size returns the size of the stored data in bytes, which RetentionPolicy.MaxBytes limits.
	Size() (int64, error)
	// ForgetNames drops names from memory that may have been removed.
	ForgetNames()
	Names
}

// Counters are running values of the log, which an engine caches. A transaction works on a copy, which becomes
// current when it commits.
type Counters struct {
	Head     int64 // last sequence number of the log
	Pruned   int64 // highest sequence number that retention removed
	Events   int64 // number of stored events
	Deleted  int64 // number of events that this hub has removed
	Bytes    int64 // size of envelopes and payloads
	Received int64 // time of the newest event, Unix milliseconds
	Decided  int64 // number of decided questions
	Chain    Chain // end of the audit log
}

// Guard names what a statement of ExecOne requires.
type Guard string

// guardRule requires that a rule is not revoked.
const guardRule Guard = "rule"

// GuardError returns the error of a write whose guard failed.
func GuardError(guard Guard) error {
	if guard == guardRule {
		return store.ErrRuleEnded
	}
	return store.ErrConflict
}

// Work is a transaction of an engine with the rules of the tables. An engine has one for each of its
// transactions, which may have several writes.
//
// The methods do, count, find and their like keep an error in the Work: from then on they do nothing, and the write
// fails with it. So a write looks at an error only before it relies on what was read.
//
// A Tx of an engine must not embed its Work: a method that it lacks would be that of the Work, which calls the Tx.
type Work struct {
	Tx
	*Counters
	Now time.Time // the same for all writes of the transaction
	t   *Tables
	err error // the first one of the current write
	// changesFreezes is set if this transaction made or lifted a freeze: the ones in memory are older.
	changesFreezes bool
	rows           []store.LogRow // to publish after the commit
	pending        []PendingUpdate
	committed      []func()                 // to run after the commit
	versions       map[schema.EventID]int64 // of the questions that this transaction changed
}

// Begin returns the Work of a transaction, which changes the counters.
func (t *Tables) Begin(tx Tx, now time.Time, c *Counters) *Work {
	return &Work{Tx: tx, Counters: c, Now: now, t: t, versions: map[schema.EventID]int64{}}
}

// Perform runs an op. It fails with the error that the op returns or has left in the Work.
func (w *Work) Perform(o *Op) error {
	w.fail(o.Run(w))
	return w.err
}

// fail ends the write with an error; nil: it goes on.
func (w *Work) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// require ends the write with an error unless a condition is met.
func (w *Work) require(isMet bool, err error) {
	if !isMet {
		w.fail(err)
	}
}

// do is Exec.
func (w *Work) do(query string, args ...any) {
	if w.err == nil {
		w.err = w.Exec(query, args...)
	}
}

// doGuarded is ExecOne.
func (w *Work) doGuarded(guard Guard, query string, args ...any) {
	if w.err == nil {
		w.err = w.ExecOne(guard, query, args...)
	}
}

// doAll executes statements that have the same arguments.
func (w *Work) doAll(queries []string, args ...any) {
	for _, query := range queries {
		w.do(query, slices.Clone(args)...)
	}
}

// count is ExecCount; 0 after an error.
func (w *Work) count(query string, args ...any) (n int64) {
	if w.err == nil {
		n, w.err = w.ExecCount(query, args...)
	}
	if w.err != nil {
		return 0
	}
	return n
}

// find is Get; false after an error.
func (w *Work) find(into []any, query string, args ...any) (found bool) {
	if w.err == nil {
		found, w.err = w.Get(into, query, args...)
	}
	return found && w.err == nil
}

// publish adds a row of the log that is published after the commit.
func (w *Work) publish(row store.LogRow) { w.rows = append(w.rows, row) }

// Rows are the rows of the log to publish.
func (w *Work) Rows() []store.LogRow { return w.rows }

// afterCommit runs f when the transaction is committed, on the writer's goroutine. f changes the state in
// memory, which other hubs read again then.
func (w *Work) afterCommit(f func()) { w.committed = append(w.committed, f) }

// ChangesState reports whether there are functions to run after the commit.
func (w *Work) ChangesState() bool { return len(w.committed) > 0 }

// Commit makes the state in memory that of the transaction.
func (w *Work) Commit() {
	w.t.State.Pending.Commit(w.pending)
	for _, f := range w.committed {
		f()
	}
	w.t.Show(w.Counters)
}

// Show shows the counters of the last commit to readers.
func (t *Tables) Show(c *Counters) {
	t.State.Events.Store(c.Events)
	t.State.Decided.Store(c.Decided)
	t.State.Pruned.Store(c.Pruned)
	t.State.Head.Store(c.Head)
}

// Mark is a point of a transaction to which Undo returns.
type Mark struct{ rows, pending, committed int }

// Mark returns the point before a write.
func (w *Work) Mark() Mark { return Mark{len(w.rows), len(w.pending), len(w.committed)} }

// Undo forgets a write that failed.
func (w *Work) Undo(m Mark) {
	w.rows, w.pending, w.committed = w.rows[:m.rows], w.pending[:m.pending], w.committed[:m.committed]
	w.err = nil
	clear(w.versions)
}

// pendingQuestion returns the facts about a pending question as of this transaction.
func (w *Work) pendingQuestion(id schema.EventID) (row pendingQuestion, ok bool) {
	for _, u := range slices.Backward(w.pending) {
		if u.ID == id {
			return u.Row, !u.Ended
		}
	}
	return w.t.State.Pending.Get(id)
}

// Change are the properties of a write.
type Change int

// The properties.
const (
	Plain      Change = 0
	Essential  Change = 1 << iota // also on a nearly full disk
	Policy                        // of accounts, rules or settings, which other hubs have to read again
	PlainEvent                    // an event without a question, which is refused on a nearly full disk
	OneRow                        // nothing that must be undone if it fails
)

// Rows are the rows of a query.
type Rows interface{ Scan(into ...any) error }

// Engine reads, and has the place of this hub. An implementation must not embed Tables, for the reason at Work.
type Engine interface {
	// Read calls each for every row.
	Read(ctx context.Context, each func(Rows) error, query string, args ...any) error
	// ReadOne reads one row, by its key or of few. It does not end with ctx.
	ReadOne(ctx context.Context, into []any, query string, args ...any) (found bool, err error)
	// Commit waits until a write is committed and published, as Queue.Commit.
	Commit(ctx context.Context, o *Op, until <-chan struct{}) error
	// Member is store.Members.Self. With the same name, it would be what an engine without that method has.
	Member() string
	// Place is what the questions and deliveries of this hub store; zero: it is the only hub.
	Place() store.Place
	// RequireCurrent fails with store.ErrPolicyChanged if other hubs have changed what the authority depends on.
	RequireCurrent(a store.Authority) error
	Names
}

// Query calls each for every row of a query, on the connection that writes.
type Query func(each func(Rows) error, query string, args ...any) error

// Tables implements the roles of store.Store whose tables are the same in every engine. What it has in memory is
// that of the last commit: the functions of afterCommit change it. An engine sets ID and Key when it opens.
type Tables struct {
	Engine
	Queue *Queue
	State *State
	ID    string        // of the hub
	Key   *identity.Key // of the hub

	epochs  atomic.Pointer[[]epoch]  // the current one is the last
	freezes snapshot[control.Freeze] // active ones
	grants  snapshot[openGrant]
	// The map is replaced when a count changes: an event of a session finds it without a lock.
	messages atomic.Pointer[map[store.SessionKey]messageCount]
}

// collect reads the rows of a query whose columns fields scans.
func collect[T any](ctx context.Context, e Engine, fields func(*T) []any, query string, args ...any) (all []T, err error) {
	err = e.Read(ctx, appendTo(&all, fields), query, args...)
	return all, err
}

// collectIn is collect in a transaction; nil after an error.
func collectIn[T any](w *Work, fields func(*T) []any, query string, args ...any) (all []T) {
	if w.err == nil {
		w.err = w.Query(appendTo(&all, fields), query, args...)
	}
	if w.err != nil {
		return nil
	}
	return all
}

func appendTo[T any](all *[]T, fields func(*T) []any) func(Rows) error {
	return func(rows Rows) error {
		*all = append(*all, *new(T))
		return rows.Scan(fields(&(*all)[len(*all)-1])...)
	}
}

// collectMap reads the rows of a query into a map.
func collectMap[K comparable, V any](
	ctx context.Context, e Engine, fields func(*K, *V) []any, query string, args ...any,
) (map[K]V, error) {
	all := map[K]V{}
	return all, e.Read(ctx, func(rows Rows) error {
		var key K
		var value V
		err := rows.Scan(fields(&key, &value)...)
		all[key] = value
		return err
	}, query, args...)
}

// column scans a row of one column.
func column[T any](v *T) []any { return []any{v} }

// read reads one value; its zero value if there is no row or it is NULL.
func read[T any](ctx context.Context, e Engine, query string, args ...any) (T, error) {
	var v sql.Null[T]
	_, err := e.ReadOne(ctx, []any{&v}, query, args...)
	return v.V, err
}

// get is read in a transaction.
func get[T any](w *Work, query string, args ...any) T {
	var v sql.Null[T]
	w.find([]any{&v}, query, args...)
	return v.V
}

// nextID returns the number after the highest one of a table.
func nextID(w *Work, table string) int64 { return get[int64](w, `SELECT max(id) FROM `+table) + 1 }

// readTime reads one time; zero if there is no row or it is NULL.
func (t *Tables) readTime(ctx context.Context, query string, args ...any) (time.Time, error) {
	ms, err := read[int64](ctx, t, query, args...)
	return Time(ms), err
}

// IsFound returns the result of a scan of one row: an error of a driver without a row is none.
func IsFound(err error) (bool, error) { return err == nil, IgnoreNoRows(err) }

// IgnoreNoRows drops the error of a scan if there was no row.
func IgnoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) { // pgx.ErrNoRows is one
		return nil
	}
	return err
}

func orNotFound(found bool, err error) error {
	if err == nil && !found {
		return schema.ErrNotFound
	}
	return err
}

// Write commits what run does as a whole.
func (t *Tables) Write(ctx context.Context, kind Change, run func(*Work) error) error {
	return t.Commit(ctx, &Op{Kind: kind, Run: run}, nil)
}

// change is Write for a function that leaves its errors in the Work.
func (t *Tables) change(ctx context.Context, kind Change, run func(*Work)) error {
	return t.Write(ctx, kind, leavingErrors(run))
}

func leavingErrors(run func(*Work)) func(*Work) error {
	return func(w *Work) error {
		run(w)
		return nil
	}
}

// write is change for a function that returns a value.
func write[T any](ctx context.Context, t *Tables, kind Change, run func(*Work) T) (v T, err error) {
	err = t.change(ctx, kind, func(w *Work) { v = run(w) })
	return v, err
}

func (t *Tables) exec(ctx context.Context, kind Change, query string, args ...any) error {
	return t.change(ctx, kind, func(w *Work) { w.do(query, args...) })
}
