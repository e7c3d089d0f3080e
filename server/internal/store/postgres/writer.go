package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// groupBytes is the number of bytes of events after which a transaction takes no more.
const groupBytes = 1 << 20

// writer owns the connection that writes. It commits whatever is queued, never waits for
// a group to fill, and runs until stop.
type writer struct {
	*engine
	config       *pgx.ConnConfig
	conn         *pgx.Conn
	counters     counters // as of the last commit
	unresolved   *tx      // its commit was sent, and its outcome is not known yet
	isAlone      bool     // it has the exclusive lock
	locks        int      // number of next groups that lock the counter row first
	isLocked     bool     // a transaction is open that has locked the counter row
	segmentNames tables.SegmentNames[tables.Name]
}

// counters are the values of the counter row, and the end of the audit log. A transaction works on
// a copy, which becomes current when it commits.
type counters struct {
	tables.Counters
	commits, mark, state, policy int64 // see the table streams
}

// refreshTo makes the writer catch up with the other hubs, at least to this number of commits.
func (w *writer) refreshTo(ctx context.Context, commits int64) error {
	return w.Queue.Commit(ctx, &tables.Op{IsCurrentAt: commits, Run: func(*tables.Work) error { return nil }}, nil)
}

func (w *writer) run() {
	w.Queue.Run(func(group []*tables.Op) {
		// The callers of the last commit run before this one, so that their next writes share an exchange.
		runtime.Gosched()
		if group[0].IsCurrentAt == 0 {
			group = w.Queue.Take(group) // an op that only reads commits nothing that others could join
		}
		w.commit(group)
	}, w.disconnect)
}

// commit commits a group of ops and releases their callers.
func (w *writer) commit(group []*tables.Op) {
	start := time.Now()
	err := w.connect(context.Background())
	if err == nil && slices.ContainsFunc(group, func(o *tables.Op) bool { return o.IsCurrentAt > w.counters.commits }) {
		err = w.refresh()
	}
	if err == nil && w.locks > 0 && group[0].IsCurrentAt == 0 {
		if err = w.lock(); err == nil {
			group = w.Queue.Take(group) // the ops that came while another hub had the lock
		} else if !isUnreachable(err) {
			err = nil // it works without the lock, too
		}
	}
	if err == nil {
		err = w.commitGroup(group)
	}
	w.health.Record(len(group), commitFault(err))
	if w.observer != nil {
		w.observer.Committed(store.Commit{Ops: len(group), Duration: time.Since(start), Err: err})
	}
	tables.Finish(group, errOfCommit(err))
}

// commitGroup commits the group at once, or its ops one by one if one of them makes that impossible.
// It fails if the database is the reason.
func (w *writer) commitGroup(group []*tables.Op) error {
	err := w.attempt(group, nil)
	if isRepeatedKey(err) {
		var stored map[string]int64
		if stored, err = w.storedKeys(group); err == nil {
			err = w.attempt(group, stored)
		}
	}
	if err == nil || isUnreachable(err) || isFull(err) {
		return err
	}
	for _, o := range group {
		if err := w.commitOne(o); err != nil {
			return err
		}
	}
	return nil
}

// maxAttempts is how often a transaction is tried that the server ends for the sake of another.
const maxAttempts = 3

func (w *writer) commitOne(o *tables.Op) error {
	var err error
	for range maxAttempts {
		var stored map[string]int64
		if stored, err = w.storedKeys([]*tables.Op{o}); err != nil {
			return err
		}
		if err = w.attempt([]*tables.Op{o}, stored); !isSerializationFailure(err) && !isRepeatedKey(err) {
			break // a key is repeated if another hub has just stored its event
		}
	}
	switch {
	case err == nil:
	case isUnreachable(err) || isFull(err):
		return err
	case guardOf(err) == guardCommits:
		o.Err = fmt.Errorf("%w: other hubs commit at the same time", schema.ErrBusy)
	case guardOf(err) != "":
		o.Err = tables.GuardError(guardOf(err))
	case o.Err == nil || !errors.Is(err, errDirty):
		o.Err = errOfCommit(err)
	}
	return nil
}

// storedKeys returns the stored events with the keys of a group; nil if it has no keys.
func (w *writer) storedKeys(group []*tables.Op) (map[string]int64, error) {
	var keys [][]byte
	for _, o := range group {
		if o.Key != nil {
			keys = append(keys, o.Key)
		}
	}
	if keys == nil {
		return nil, nil
	}
	ctx, cancel := exchangeTimeout()
	defer cancel()
	stored := map[string]int64{}
	var key []byte
	var seq int64
	rows, _ := w.conn.Query(ctx, `SELECT key, seq FROM events WHERE key = ANY($1)`, keys)
	_, err := pgx.ForEachRow(rows, []any{&key, &seq}, func() error {
		stored[string(key)] = seq
		return nil
	})
	return stored, w.markLost(err)
}

// markLost marks an error after which the connection is closed.
func (w *writer) markLost(err error) error {
	if err != nil && w.conn.IsClosed() && !errors.Is(err, errConnectionLost) {
		return fmt.Errorf("%w: %w", errConnectionLost, err)
	}
	return err
}

// lockedGroups is the number of groups that lock the counter row first after another hub committed
// between two. A hub that works alone needs one exchange for a group instead of two.
const lockedGroups = 32

// attempt commits and publishes the group, or changes nothing. stored are the known keys. If another
// hub commits at the same time, it locks the counter row, reads the other hub's changes, and tries
// once more.
func (w *writer) attempt(group []*tables.Op, stored map[string]int64) error {
	err := w.attemptOnce(group, stored)
	if guardOf(err) == guardCommits {
		w.conflicts.Add(1)
		w.locks = lockedGroups
		if err = w.lock(); err == nil {
			err = w.attemptOnce(group, stored)
		}
	}
	return err
}

// lock begins the next transaction, which no other hub can commit before, and catches up with the others.
func (w *writer) lock() error {
	known := w.counters.commits
	if err := w.beginAndCatchUp(`BEGIN`, `SELECT FROM streams FOR UPDATE`); err != nil {
		return err
	}
	w.isLocked = true
	if w.locks--; w.counters.commits != known {
		w.locks = lockedGroups
	}
	return nil
}

func (w *writer) attemptOnce(group []*tables.Op, stored map[string]int64) error {
	t := &tx{w: w, counters: w.counters, batch: &pgx.Batch{}, keys: map[string]int64{}, isOpen: w.isLocked}
	t.work = w.Begin(t, w.clock(), &t.counters.Counters)
	w.isLocked = false
	if stored != nil {
		t.keys = maps.Clone(stored) // the next attempt must not have the keys of this one
	}
	err := t.runAll(group)
	if err == nil {
		if err = t.commit(); err != nil && isUnreachable(err) {
			w.unresolved = t
			if w.connect(context.Background()) == nil && w.counters.mark == t.counters.mark {
				return nil // it was committed, and connect has published it
			}
		}
	}
	if err != nil {
		if t.isOpen {
			w.rollback()
		}
		w.segmentNames.Clear()
		return err
	}
	w.finish(t)
	return nil
}

// finish makes a committed transaction current and publishes its rows.
func (w *writer) finish(t *tx) {
	isNew := t.counters.commits != w.counters.commits
	w.publisher.own(t.work.Rows(), func() {
		w.counters = t.counters
		t.work.Commit()
		w.commits.Store(t.counters.commits)
	})
	if isNew {
		w.follower.ring(t.counters.commits)
	}
}

// send sends statements in one exchange and reads their results.
func (w *writer) send(b *pgx.Batch) error {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	return w.conn.SendBatch(ctx, b).Close()
}

// The state in memory is that of one commit: the last one by this hub, or a later one that it has
// caught up with. A transaction is valid only if no other hub has committed since.

const queryCounters = `SELECT s.commits, s.mark, s.state, s.policy, s.head, s.pruned, s.events, s.bytes, s.received, s.decided,
		coalesce(l.n, 0), coalesce(l.hash, $1), coalesce((SELECT max(n) FROM ledger_heads), 0)
	FROM streams s LEFT JOIN (SELECT n, hash FROM ledger ORDER BY n DESC LIMIT 1) l ON true`

func readCounters(ctx context.Context, conn *pgx.Conn) (counters, error) {
	return scanCounters(conn.QueryRow(ctx, queryCounters, sign.FirstPrev))
}

func scanCounters(row pgx.Row) (c counters, err error) {
	err = row.Scan(&c.commits, &c.mark, &c.state, &c.policy, &c.Head, &c.Pruned, &c.Events, &c.Bytes, &c.Received, &c.Decided,
		&c.Chain.N, &c.Chain.Hash, &c.Chain.Signed)
	return c, err
}

// refresh catches up with the other hubs.
func (w *writer) refresh() error {
	err := w.beginAndCatchUp(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	if err == nil {
		err = w.end(`COMMIT`)
	}
	return err
}

// beginAndCatchUp begins a transaction with the statements and reads in it the changes of other hubs.
func (w *writer) beginAndCatchUp(begin ...string) error {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	batch := &pgx.Batch{}
	for _, statement := range begin {
		batch.Queue(statement)
	}
	known := w.counters.Head
	var c counters
	var changed []tables.PendingUpdate
	batch.Queue(queryCounters, sign.FirstPrev).QueryRow(func(row pgx.Row) (err error) {
		c, err = scanCounters(row)
		return err
	})
	batch.Queue(queryChangedQuestions, known, known+maxCaughtUp).Query(func(rows pgx.Rows) (err error) {
		read := func(each func(tables.Rows) error, _ string, _ ...any) error { return eachRow(rows, nil, each) }
		changed, err = w.ReadPending(ctx, read, "")
		return err
	})
	err := w.conn.SendBatch(ctx, batch).Close()
	if err == nil && c.commits != w.counters.commits {
		err = w.catchUp(ctx, &c, changed)
	}
	if err != nil {
		w.rollback()
	}
	return w.markLost(err)
}

// end ends the open transaction.
func (w *writer) end(statement string) error {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	_, err := w.conn.Exec(ctx, statement)
	return w.markLost(err)
}

// rollback ends a transaction that failed.
func (w *writer) rollback() {
	if w.conn == nil || w.conn.IsClosed() {
		return
	}
	if w.end(`ROLLBACK`) != nil {
		ctx, cancel := exchangeTimeout()
		defer cancel()
		_ = w.conn.Close(ctx) // the next write connects again
	}
}

// maxCaughtUp is the number of rows of the log above which all pending questions are read again.
const maxCaughtUp = 10_000

// catchUp brings the state in memory to that of the counters, in the open transaction. changed are the
// questions that the first maxCaughtUp new rows of the log are about.
func (w *writer) catchUp(ctx context.Context, c *counters, changed []tables.PendingUpdate) error {
	before, s := &w.counters, w.engine
	if c.Head-before.Head > maxCaughtUp {
		if err := s.LoadPending(ctx, w.read(ctx)); err != nil {
			return err
		}
	} else {
		s.State.Pending.Commit(changed)
	}
	if c.state != before.state {
		if err := s.Load(w.read(ctx), s.clock()); err != nil {
			return err
		}
		w.segmentNames.Clear() // retention may have removed names
	}
	if c.Pruned != before.Pruned {
		w.segmentNames.Clear()
	}
	changesPolicy := c.policy != before.policy
	w.counters = *c
	s.commits.Store(c.commits)
	s.Show(&c.Counters)
	if changesPolicy {
		s.policy.changedTo(c.policy)
	}
	s.follower.wakeup.Wake()
	return nil
}

const queryChangedQuestions = `SELECT ` + tables.PendingColumns + ` FROM questions
	WHERE seq IN (SELECT seq FROM questions WHERE seq > $1 AND seq <= $2 UNION SELECT question FROM changes WHERE seq > $1 AND seq <= $2) ORDER BY seq`
