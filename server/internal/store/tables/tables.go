// Package tables stores the tables that have the same columns and statements in every engine. Its SQL is
// PostgreSQL's; the SQLite engine translates the few words that it spells differently (see sqlite/dialect.go).
package tables

import (
	"context"
	"database/sql"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
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
	Now() time.Time
	// Head is the last sequence number of the log.
	Head() int64
	// Chain is the end of the audit log. It is undone with the statements of a write that fails.
	Chain() *Chain
	// Pruned is the highest sequence number that retention removed.
	Pruned() int64
	// Count adds to the counters.
	Count(d Delta)
	// InsertChange appends the row of the log for a change of a question, with the question's status after it. The
	// next statement updates the question: on SQLite it takes last_change from last_insert_rowid().
	InsertChange(id schema.EventID, ends bool, status []byte) (seq int64, err error)
	// LeaseDeliveries leases up to n deliveries that are due, the earliest first.
	LeaseDeliveries(now, until time.Time, n int) ([]schema.EventID, error)
	// UpsertDelivery stores the delivery of an answer.
	UpsertDelivery(id schema.EventID, d *store.Delivery) error
	// PlaceOf returns the columns owner and machine of a question with the address that is stored at this hub.
	PlaceOf(address string) (owner, machine string)
	// DeleteChanges removes the changes of questions. last is the highest sequence number of them.
	DeleteChanges(questions []int64) (n, last int64, err error)
	// Size returns the size of the stored data in bytes, which RetentionPolicy.MaxBytes limits.
	Size() (int64, error)
	// ForgetNames drops names from memory that may have been removed.
	ForgetNames()
	Names
}

// Delta is added to the counters of an engine.
type Delta struct {
	Events, Bytes int64 // number and size of events
	Decided       int64 // number of decided questions
	Pruned        int64 // highest sequence number that retention removed; 0: unchanged
}

// Guard names what a statement of ExecOne requires.
type Guard string

// GuardRule requires that a rule is not revoked.
const GuardRule Guard = "rule"

// GuardError returns the error of a write whose guard failed.
func GuardError(guard Guard) error {
	if guard == GuardRule {
		return store.ErrRuleEnded
	}
	return store.ErrConflict
}

// Work is a transaction of an engine with the rules of the tables. An engine has one for each of its
// transactions, which may have several writes.
type Work struct {
	Tx
	t *Tables
	// changesFreezes is set if this transaction made or lifted a freeze: the ones in memory are older.
	changesFreezes bool
	rows           []store.LogRow // to publish after the commit
	pending        []PendingUpdate[string]
	committed      []func()                 // to run after the commit
	versions       map[schema.EventID]int64 // of the questions that this transaction changed
}

// Begin returns the Work of a transaction.
func (t *Tables) Begin(tx Tx) *Work { return &Work{Tx: tx, t: t, versions: map[schema.EventID]int64{}} }

// Publish adds a row of the log that is published after the commit.
func (w *Work) Publish(row store.LogRow) { w.rows = append(w.rows, row) }

// Rows are the rows of the log to publish.
func (w *Work) Rows() []store.LogRow { return w.rows }

// AfterCommit runs f when the transaction is committed, on the writer's goroutine. f changes the state in
// memory, which other hubs read again then.
func (w *Work) AfterCommit(f func()) { w.committed = append(w.committed, f) }

// ChangesState reports whether there are functions to run after the commit.
func (w *Work) ChangesState() bool { return len(w.committed) > 0 }

// Commit makes the state in memory that of the transaction.
func (w *Work) Commit() {
	w.t.State.Pending.Commit(w.pending)
	for _, f := range w.committed {
		f()
	}
}

// Mark is a point of a transaction to which Undo returns.
type Mark struct{ rows, pending, committed int }

// Mark returns the point before a write.
func (w *Work) Mark() Mark { return Mark{len(w.rows), len(w.pending), len(w.committed)} }

// Undo forgets a write that failed.
func (w *Work) Undo(m Mark) {
	w.rows, w.pending, w.committed = w.rows[:m.rows], w.pending[:m.pending], w.committed[:m.committed]
	clear(w.versions)
}

// PendingQuestion returns the facts about a pending question as of this transaction.
func (w *Work) PendingQuestion(id schema.EventID) (row PendingQuestion[string], ok bool) {
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
	Write(ctx context.Context, kind Change, run func(*Work) error) error
	// Read calls each for every row.
	Read(ctx context.Context, each func(Rows) error, query string, args ...any) error
	// ReadOne reads one row, by its key or of few. It does not end with ctx.
	ReadOne(ctx context.Context, into []any, query string, args ...any) (found bool, err error)
	// WriteJoined is Write that may wait for the commit of another write, until a channel is closed; nil: it doesn't.
	WriteJoined(ctx context.Context, until <-chan struct{}, run func(*Work) error) error
	// NextDelivery is the query of the time at which LeaseDeliveries finds the next delivery.
	NextDelivery() (query string, args []any)
	// Queued is the number of writes that wait.
	Queued() int
	Names
}

// Query calls each for every row of a query, on the connection that writes.
type Query func(each func(Rows) error, query string, args ...any) error

// Tables implements the roles of store.Store whose tables are the same in every engine. What it has in memory is
// that of the last commit: the functions of AfterCommit change it. An engine sets ID and Key when it opens.
type Tables struct {
	Engine
	State *State
	ID    string        // of the hub
	Key   *identity.Key // of the hub

	epochs  atomic.Pointer[[]epoch] // the current one is the last
	freezes activeFreezes
	grants  openGrants
	saved   itemCounts // messages that are not handed over
	open    itemCounts // messages that are not handed over, or not acted on
}

// collect reads the rows of a query whose columns fields scans.
func collect[T any](ctx context.Context, e Engine, fields func(*T) []any, query string, args ...any) (all []T, err error) {
	err = e.Read(ctx, appendTo(&all, fields), query, args...)
	return all, err
}

// collectIn is collect in a transaction.
func collectIn[T any](tx Tx, fields func(*T) []any, query string, args ...any) (all []T, err error) {
	err = tx.Query(appendTo(&all, fields), query, args...)
	return all, err
}

func appendTo[T any](all *[]T, fields func(*T) []any) func(Rows) error {
	return func(rows Rows) error {
		*all = append(*all, *new(T))
		return rows.Scan(fields(&(*all)[len(*all)-1])...)
	}
}

// column scans a row of one column.
func column[T any](v *T) []any { return []any{v} }

// readTime reads one time; zero if there is no row or it is NULL.
func (t *Tables) readTime(ctx context.Context, query string, args ...any) (time.Time, error) {
	var ms sql.NullInt64
	_, err := t.ReadOne(ctx, []any{&ms}, query, args...)
	return Time(ms.Int64), err
}

func orNotFound(found bool, err error) error {
	if err == nil && !found {
		return schema.ErrNotFound
	}
	return err
}

func (t *Tables) exec(ctx context.Context, kind Change, query string, args ...any) error {
	return t.Write(ctx, kind, func(w *Work) error { return w.Exec(query, args...) })
}
