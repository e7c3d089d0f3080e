package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/server/internal/store/tables"
)

// tx is the transaction of one group commit. Statements wait in batch until the commit, or until a
// read that has to see their effect.
type tx struct {
	*tables.Work
	tables.Names
	w        *writer
	counters counters
	now      time.Time // the same for all ops of the group

	batch  *pgx.Batch
	events eventBatch // to insert before batch
	sent   int        // number of statements sent
	isOpen bool       // a BEGIN was sent
	err    error      // the first error of a statement sent: the transaction is lost

	// keys are idempotency keys that are known to be stored: the keys of this group, and, if they
	// were read, the keys of earlier events.
	keys map[string]int64
	// changesPolicy is set if this group changed accounts, rules or settings, which hubs keep in memory above the store.
	changesPolicy bool
}

func (w *writer) newTx() *tx {
	t := &tx{
		Names: tableEngine{}, w: w, counters: w.counters, now: w.clock(), batch: &pgx.Batch{},
		keys: map[string]int64{}, events: newEventBatch(w),
	}
	t.Work = w.store.Begin(t)
	return t
}

// errDirty means that an op failed after some of its statements were sent. The ops of its group run
// one by one then.
var errDirty = errors.New("statements of a failed write were sent")

// runAll runs the ops of a group. It fails if the transaction is lost.
func (t *tx) runAll(group []*op) error {
	for _, o := range group {
		o.err = t.runOne(o)
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// runOne runs one op. If it fails, its statements are dropped.
func (t *tx) runOne(o *op) error {
	before, mark := t.counters, t.Mark()
	queued, events, sent := len(t.batch.QueuedQueries), t.events.len(), t.sent
	_, isKnown := t.keys[string(o.key)]
	err := o.run(t)
	if err == nil || t.err != nil {
		return err
	}
	if t.sent != sent {
		t.err = errDirty
		return err
	}
	t.counters = before
	t.Undo(mark)
	t.batch.QueuedQueries = t.batch.QueuedQueries[:queued]
	t.events.truncate(events)
	if !isKnown {
		delete(t.keys, string(o.key))
	}
	return err
}

// exec queues a statement. It fails at the latest when the group is committed.
func (t *tx) exec(query string, args ...any) error {
	t.batch.Queue(query, clean(args)...)
	return t.err
}

// execOne queues a statement that has to affect one row. query ends with a RETURNING clause. If it
// affects none, the group fails with the guard.
func (t *tx) execOne(guard tables.Guard, query string, args ...any) error {
	return t.exec(`WITH changed AS (`+query+`) SELECT expect((SELECT count(*) FROM changed), 1, '`+string(guard)+`')`, args...)
}

// execCount executes a statement and returns the number of rows that it affected.
func (t *tx) execCount(query string, args ...any) (int64, error) {
	if err := t.flush(); err != nil {
		return 0, err
	}
	ctx, cancel := exchangeTimeout()
	defer cancel()
	t.sent++
	tag, err := t.w.conn.Exec(ctx, query, clean(args)...)
	return tag.RowsAffected(), t.lost(err)
}

// query reads rows after the queued statements. The caller reads them before it uses t again.
func (t *tx) query(query string, args ...any) (pgx.Rows, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	rows, err := t.w.conn.Query(context.Background(), query, clean(args)...)
	return rows, t.lost(err)
}

// get reads one row. It returns pgx.ErrNoRows if there is none.
func (t *tx) get(into []any, query string, args ...any) error {
	if err := t.flush(); err != nil {
		return err
	}
	ctx, cancel := exchangeTimeout()
	defer cancel()
	err := t.w.conn.QueryRow(ctx, query, clean(args)...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	return t.lost(err)
}

// lost records an error of the database, after which the transaction accepts no more statements.
func (t *tx) lost(err error) error {
	err = t.w.markLost(err)
	if err != nil && t.err == nil {
		t.err = err
	}
	return err
}

// requireNoOtherCommit locks the counter row. It fails if another hub has committed since the state in
// memory was read.
const requireNoOtherCommit = `WITH stream AS MATERIALIZED (SELECT commits FROM streams FOR UPDATE) SELECT expect(commits, $1, 'commits') FROM stream`

// flush sends the queued statements and leaves the transaction open, with the counter row locked:
// later reads remain valid until its commit.
func (t *tx) flush() error {
	if t.err != nil {
		return t.err
	}
	t.events.queue(t)
	queued := t.batch.QueuedQueries
	if !t.isOpen {
		begin := &pgx.Batch{}
		begin.Queue(`BEGIN`)
		begin.Queue(requireNoOtherCommit, t.counters.commits)
		queued, t.isOpen = append(begin.QueuedQueries, queued...), true
	}
	t.batch = &pgx.Batch{}
	if len(queued) == 0 {
		return nil
	}
	t.sent += len(queued)
	return t.lost(t.w.send(&pgx.Batch{QueuedQueries: queued}))
}

const updateCounters = `UPDATE streams SET commits = commits + 1, mark = $1, head = $2, pruned = $3, events = $4, bytes = $5, received = $6,
	decided = $7, state = $8, policy = $9 WHERE commits = $10 RETURNING 1`

// commit sends the queued statements and the counters. Without an earlier flush this is one
// exchange, which the server runs as one transaction. The counters are its first statement: hubs
// wait for each other there, before they change any other row.
func (t *tx) commit() error {
	if t.err != nil {
		return t.err
	}
	t.events.queue(t)
	if t.sent == 0 && len(t.batch.QueuedQueries) == 0 {
		if t.isOpen {
			return t.lost(t.w.end(`COMMIT`))
		}
		return nil // all ops failed, or had nothing to do
	}
	c, queued := &t.counters, t.batch.QueuedQueries
	c.commits++
	c.mark = rand.Int64()
	if t.ChangesState() {
		c.state++
	}
	if t.changesPolicy {
		c.policy++
	}
	t.batch = &pgx.Batch{}
	_ = t.execOne(guardCommits, updateCounters, c.mark, c.head, c.pruned, c.events,
		c.bytes, c.received, c.decided, c.state, c.policy, c.commits-1)
	t.batch.QueuedQueries = append(t.batch.QueuedQueries, queued...)
	if t.isOpen {
		_ = t.exec(`COMMIT`)
	}
	return t.lost(t.w.send(t.batch))
}

// guardCommits fails if another hub has committed since the state in memory was read.
const guardCommits tables.Guard = "commits"

// rollback ends a transaction that failed.
func (t *tx) rollback() {
	if t.isOpen {
		t.w.rollback()
	}
	t.w.segmentNames.clear()
}

// exchangeTimeout bounds an exchange with the server, which ends a statement after 5 s.
func exchangeTimeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}

// nextSeq assigns the next sequence number of the log.
func (t *tx) nextSeq() int64 {
	t.counters.head++
	return t.counters.head
}
