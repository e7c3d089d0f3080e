package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

const (
	queueLimit = 4096 // ops in the queue; more are rejected (backpressure)
	joinLimit  = 16   // ops that wait for the commit of others
	groupLimit = 512  // ops in one transaction
	groupBytes = 1 << 20
)

// writer owns the connection that writes. It commits whatever is queued, never waits for
// a group to fill, and runs until stop.
type writer struct {
	config       *pgx.ConnConfig
	conn         *pgx.Conn
	health       *health
	clock        func() time.Time
	log          *slog.Logger
	commits      store.CommitObserver // nil: none
	store        *engine
	counters     counters // as of the last commit
	unresolved   *tx      // its commit was sent, and its outcome is not known yet
	isAlone      bool     // it has the exclusive lock
	locks        int      // number of next groups that lock the counter row first
	isLocked     bool     // a transaction is open that has locked the counter row
	segmentNames segmentNames

	mu      sync.RWMutex // guards stopped, and the queue against a send after close
	stopped bool
	queue   chan *op
	joining chan *op      // ops that do not start a commit
	done    chan struct{} // closed when the goroutine has ended
}

// counters are the values of the counter row, and the end of the audit log. A transaction works on
// a copy, which becomes current when it commits.
type counters struct {
	commits, mark, state, policy          int64 // see the table streams
	head, pruned, events, bytes, received int64
	decided                               int64        // number of decided questions
	chain                                 tables.Chain // end of the audit log
}

// op is one write. run executes on the writer's goroutine, possibly several times, because the
// first transaction may have been rolled back.
type op struct {
	run   func(t *tx) error
	key   []byte // of an event: its idempotency key
	bytes int    // of an event
	// isCurrentAt is a number of commits that the state in memory has to include before the op runs; 0: any.
	isCurrentAt int64
	// explain returns the error of an op that failed a guard; nil: tables.GuardError.
	explain func(guard tables.Guard) error
	state   atomic.Int32
	err     error
	done    chan struct{} // closed once err is set
}

// The states of an op.
const (
	queued int32 = iota
	taken
	abandoned
)

// do queues an op and waits until it is committed and published. If ctx ends before the
// writer takes the op, do returns ctx.Err() and nothing happens. After that do waits for
// the commit, so the caller owns its bytes again when do returns.
func (w *writer) do(ctx context.Context, o *op) error {
	if err := w.enqueue(o); err != nil {
		return err
	}
	return w.wait(ctx, o)
}

// exec executes one statement.
func (w *writer) exec(ctx context.Context, query string, args ...any) error {
	return w.do(ctx, &op{run: func(t *tx) error { return t.exec(query, args...) }})
}

func (w *writer) wait(ctx context.Context, o *op) error {
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.state.CompareAndSwap(queued, abandoned) {
			return ctx.Err()
		}
		<-o.done
	}
	return o.err
}

// join is do without a separate commit: the op is committed together with the next op of
// another. When now is closed, it is queued like any other.
func (w *writer) join(ctx context.Context, o *op, now <-chan struct{}) error {
	if now == nil {
		return w.do(ctx, o)
	}
	o.done = make(chan struct{})
	select {
	case w.joining <- o:
	default:
		return w.do(ctx, o)
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return w.wait(ctx, o)
	case <-now:
	case <-w.done:
	}
	// The writer takes it once, from whichever queue it reads first.
	if err := w.push(o); err != nil && o.state.CompareAndSwap(queued, abandoned) {
		return err
	}
	return w.wait(ctx, o)
}

func (w *writer) enqueue(o *op) error {
	if err := w.health.refusal(); err != nil {
		return err
	}
	o.done = make(chan struct{})
	return w.push(o)
}

func (w *writer) push(o *op) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.stopped {
		return schema.ErrStopping
	}
	select {
	case w.queue <- o:
		return nil
	default:
		return &schema.HintError{
			Err:  fmt.Errorf("%w: this was not stored; existing data is safe", schema.ErrBusy),
			Hint: "Try again in a second.",
		}
	}
}

// probe starts a write if the last commit failed, so that a hub to which nothing is sent finds
// out that its database works again. It does not wait for the write.
func (w *writer) probe() {
	if w.health.claimProbe(w.clock()) {
		_ = w.enqueue(&op{run: func(t *tx) error { return t.exec(`SELECT 1`) }})
	}
}

// refreshTo makes the writer catch up with the other hubs, at least to this number of commits.
func (w *writer) refreshTo(ctx context.Context, commits int64) error {
	return w.do(ctx, &op{isCurrentAt: commits, run: func(*tx) error { return nil }})
}

// stop returns once all queued ops are committed and the goroutine has ended.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.done
}

func (w *writer) run() {
	defer close(w.done)
	group := make([]*op, 0, groupLimit)
	for o := range w.queue {
		// The callers of the last commit run before this one, so that their next writes share an exchange.
		runtime.Gosched()
		if group = appendClaimed(group[:0], o); len(group) == 0 {
			continue // its caller gave up, so it makes no commit that others could join
		}
		if o.isCurrentAt == 0 {
			group = w.takeQueued(group) // an op that only reads commits nothing that others could join
		}
		w.commit(group)
	}
	w.disconnect()
}

// takeQueued adds the queued ops to the group.
func (w *writer) takeQueued(group []*op) []*op {
	bytes := 0
	for _, o := range group {
		bytes += o.bytes
	}
	for len(group) < groupLimit && bytes < groupBytes {
		select {
		case o, ok := <-w.queue:
			if !ok {
				return group
			}
			group = appendClaimed(group, o)
			bytes += o.bytes
			continue
		default:
		}
		select {
		case o := <-w.joining:
			group = appendClaimed(group, o)
		default:
			return group
		}
	}
	return group
}

func appendClaimed(group []*op, o *op) []*op {
	if !o.state.CompareAndSwap(queued, taken) {
		return group
	}
	return append(group, o)
}

// commit commits a group of ops and releases their callers.
func (w *writer) commit(group []*op) {
	start := time.Now()
	err := w.connect(context.Background())
	if err == nil && slices.ContainsFunc(group, func(o *op) bool { return o.isCurrentAt > w.counters.commits }) {
		err = w.refresh()
	}
	if err == nil && w.locks > 0 && group[0].isCurrentAt == 0 {
		if err = w.lock(); err == nil {
			group = w.takeQueued(group) // the ops that came while another hub had the lock
		} else if !isUnreachable(err) {
			err = nil // it works without the lock, too
		}
	}
	if err == nil {
		err = w.commitGroup(group)
	}
	w.health.record(len(group), err)
	if w.commits != nil {
		w.commits.Committed(store.Commit{Ops: len(group), Duration: time.Since(start), Err: err})
	}
	for _, o := range group {
		if err != nil {
			o.err = errOfCommit(err)
		}
		close(o.done)
	}
}

// commitGroup commits the group at once, or its ops one by one if one of them makes that impossible.
// It fails if the database is the reason.
func (w *writer) commitGroup(group []*op) error {
	err := w.attempt(group, nil)
	if keys := keysOf(group); isRepeatedKey(err) && len(keys) > 0 {
		var stored map[string]int64
		if stored, err = w.storedKeys(keys); err == nil {
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

func (w *writer) commitOne(o *op) error {
	var err error
	for range maxAttempts {
		var stored map[string]int64
		if o.key != nil {
			if stored, err = w.storedKeys([][]byte{o.key}); err != nil {
				return err
			}
		}
		if err = w.attempt([]*op{o}, stored); !isSerializationFailure(err) && !isRepeatedKey(err) {
			break // a key is repeated if another hub has just stored its event
		}
	}
	switch {
	case err == nil:
	case isUnreachable(err) || isFull(err):
		return err
	case guardOf(err) == guardCommits:
		o.err = fmt.Errorf("%w: other hubs commit at the same time", schema.ErrBusy)
	case guardOf(err) != "" && o.explain != nil:
		o.err = o.explain(guardOf(err))
	case guardOf(err) != "":
		o.err = tables.GuardError(guardOf(err))
	case o.err == nil || !errors.Is(err, errDirty):
		o.err = errOfCommit(err)
	}
	return nil
}

func keysOf(group []*op) (keys [][]byte) {
	for _, o := range group {
		if o.key != nil {
			keys = append(keys, o.key)
		}
	}
	return keys
}

// storedKeys returns the events with the keys.
func (w *writer) storedKeys(keys [][]byte) (map[string]int64, error) {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	stored := map[string]int64{}
	rows, err := w.conn.Query(ctx, `SELECT key, seq FROM events WHERE key = ANY($1)`, keys)
	return stored, w.markLost(eachRow(rows, err, func(rows pgx.Rows) error {
		var key []byte
		var seq int64
		err := rows.Scan(&key, &seq)
		stored[string(key)] = seq
		return err
	}))
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
func (w *writer) attempt(group []*op, stored map[string]int64) error {
	err := w.attemptOnce(group, stored)
	if guardOf(err) == guardCommits {
		w.store.conflicts.Add(1)
		w.locks = lockedGroups
		if err = w.lock(); err == nil {
			err = w.attemptOnce(group, stored)
		}
	}
	return err
}

// lock locks the counter row for the next transaction.
func (w *writer) lock() error {
	known := w.counters.commits
	if err := w.lockCounters(); err != nil {
		return err
	}
	w.isLocked = true
	if w.locks--; w.counters.commits != known {
		w.locks = lockedGroups
	}
	return nil
}

func (w *writer) attemptOnce(group []*op, stored map[string]int64) error {
	t := w.newTx()
	t.isOpen, w.isLocked = w.isLocked, false
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
		t.rollback()
		return err
	}
	w.finish(t)
	return nil
}

// finish makes a committed transaction current and publishes its rows.
func (w *writer) finish(t *tx) {
	isNew := t.counters.commits != w.counters.commits
	w.store.publisher.own(t.Rows(), func() {
		w.counters = t.counters
		t.Work.Commit()
		w.store.setCounters(&t.counters)
	})
	if isNew {
		w.store.follower.ring(t.counters.commits)
	}
}

// send sends statements in one exchange and reads their results.
func (w *writer) send(b *pgx.Batch) error {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	results := w.conn.SendBatch(ctx, b)
	for range b.QueuedQueries {
		if _, err := results.Exec(); err != nil {
			_ = results.Close()
			return err
		}
	}
	return results.Close()
}
