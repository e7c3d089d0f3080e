package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// tx is the transaction of one group commit. Statements wait in batch until the commit, or until a
// read that has to see their effect. It implements tables.Tx.
type tx struct {
	textNames
	work     *tables.Work
	w        *writer
	counters counters

	batch  *pgx.Batch
	events []eventRow // to insert before batch
	sent   int        // number of statements sent
	isOpen bool       // a BEGIN was sent
	err    error      // the first error of a statement sent: the transaction is lost

	// keys are idempotency keys that are known to be stored: the keys of this group, and, if they
	// were read, the keys of earlier events.
	keys map[string]int64
	// changesPolicy is set if this group changed accounts, rules or settings, which hubs keep in memory above the store.
	changesPolicy bool
}

// errDirty means that an op failed after some of its statements were sent. The ops of its group run
// one by one then.
var errDirty = errors.New("statements of a failed write were sent")

// runAll runs the ops of a group. It fails if the transaction is lost.
func (t *tx) runAll(group []*tables.Op) error {
	for _, o := range group {
		o.Err = t.runOne(o)
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// runOne runs one op. If it fails, its statements are dropped.
func (t *tx) runOne(o *tables.Op) error {
	before, mark := t.counters, t.work.Mark()
	queued, events, sent := len(t.batch.QueuedQueries), len(t.events), t.sent
	_, isKnown := t.keys[string(o.Key)]
	t.changesPolicy = t.changesPolicy || o.Kind&tables.Policy != 0
	err := t.work.Perform(o)
	if err == nil || t.err != nil {
		return err
	}
	if t.sent != sent {
		t.err = errDirty
		return err
	}
	t.counters = before
	t.work.Undo(mark)
	t.batch.QueuedQueries = t.batch.QueuedQueries[:queued]
	t.events = t.events[:events]
	if !isKnown {
		delete(t.keys, string(o.Key))
	}
	return err
}

// Exec queues a statement. It fails at the latest when the group is committed.
func (t *tx) Exec(query string, args ...any) error {
	t.batch.Queue(query, clean(args)...)
	return t.err
}

// ExecOne implements tables.Tx. If the statement affects no row, the group fails with the guard.
func (t *tx) ExecOne(guard tables.Guard, query string, args ...any) error {
	return t.Exec(`WITH changed AS (`+query+`) SELECT expect((SELECT count(*) FROM changed), 1, '`+string(guard)+`')`, args...)
}

func (t *tx) ExecCount(query string, args ...any) (int64, error) {
	if err := t.flush(); err != nil {
		return 0, err
	}
	ctx, cancel := exchangeTimeout()
	defer cancel()
	t.sent++
	tag, err := t.w.conn.Exec(ctx, query, clean(args)...)
	return tag.RowsAffected(), t.lost(err)
}

// Query reads rows after the queued statements.
func (t *tx) Query(each func(tables.Rows) error, query string, args ...any) error {
	if err := t.flush(); err != nil {
		return err
	}
	rows, err := t.w.conn.Query(context.Background(), query, clean(args)...)
	return eachRow(rows, t.lost(err), each)
}

func (t *tx) Get(into []any, query string, args ...any) (bool, error) {
	if err := t.flush(); err != nil {
		return false, err
	}
	ctx, cancel := exchangeTimeout()
	defer cancel()
	found, err := tables.IsFound(t.w.conn.QueryRow(ctx, query, clean(args)...).Scan(into...))
	return found, t.lost(err)
}

// EventByKey implements tables.Tx. A key that is not known is taken as new: if it is stored, the insertion fails, and
// the group runs again.
func (t *tx) EventByKey(key []byte) (seq int64, found bool, err error) {
	seq, found = t.keys[string(key)]
	return seq, found, nil
}

func (t *tx) InsertEvent(e *store.Event, uid uuid.UUID, key []byte) error {
	for _, name := range [...]*string{&e.App, &e.Session, &e.Type, &e.Tool} {
		*name = cleanText(*name) // as the search index and the other hubs read it
	}
	t.events = append(t.events, eventRow{e, uid, key})
	if key != nil {
		t.keys[string(key)] = int64(e.ID)
	}
	return nil
}

func (t *tx) InsertChange(seq int64, id schema.EventID, ends bool, status []byte) error {
	return t.Exec(`INSERT INTO changes (seq, question, ends, status) VALUES ($1, $2, $3, $4)`, seq, id, ends, status)
}

const deleteChanges = `WITH removed AS (DELETE FROM changes WHERE question = ANY($1) RETURNING seq)
	SELECT count(*), coalesce(max(seq), 0) FROM removed`

func (t *tx) DeleteChanges(questions []int64) (n, last int64, err error) {
	_, err = t.Get([]any{&n, &last}, deleteChanges, questions)
	return n, last, err
}

// Size implements tables.Tx. The tables do not get smaller, but reuse the space.
func (t *tx) Size() (int64, error) { return t.counters.Bytes, nil }

// ForgetNames implements tables.Tx: a later event of this group lists its names again.
func (t *tx) ForgetNames() { t.w.segmentNames.Clear() }

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
	t.queueEvents()
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
	t.queueEvents()
	if t.sent == 0 && len(t.batch.QueuedQueries) == 0 {
		if t.isOpen {
			return t.lost(t.w.end(`COMMIT`))
		}
		return nil // all ops failed, or had nothing to do
	}
	c, queued := &t.counters, t.batch.QueuedQueries
	c.commits++
	c.mark = rand.Int64()
	if t.work.ChangesState() {
		c.state++
	}
	if t.changesPolicy {
		c.policy++
	}
	t.batch = &pgx.Batch{}
	_ = t.ExecOne(guardCommits, updateCounters, c.mark, c.Head, c.Pruned, c.Events,
		c.Bytes, c.Received, c.Decided, c.state, c.policy, c.commits-1)
	t.batch.QueuedQueries = append(t.batch.QueuedQueries, queued...)
	if t.isOpen {
		_ = t.Exec(`COMMIT`)
	}
	return t.lost(t.w.send(t.batch))
}

// guardCommits fails if another hub has committed since the state in memory was read.
const guardCommits tables.Guard = "commits"

// exchangeTimeout bounds an exchange with the server, which ends a statement after 5 s.
func exchangeTimeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Second)
}
