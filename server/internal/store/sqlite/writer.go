package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

const (
	queueLimit = 4096 // ops in the queue; more are rejected (backpressure)
	joinLimit  = 16   // ops that wait for the commit of others
	groupLimit = 512  // ops in one transaction
)

// writer owns the connection that writes. It commits whatever is queued, never waits for
// a group to fill, and runs until stop.
type writer struct {
	conn         *sql.Conn
	statements   statements // prepared on conn
	dictionary   *dictionary
	diskSpace    *diskSpace
	health       *health
	clock        func() time.Time
	log          *slog.Logger
	publish      func([]store.LogRow)
	commits      store.CommitObserver // nil: none
	store        *engine
	counters     counters // as of the last commit
	stored       counters // as of the last commit that wrote them to the table streams
	segmentNames segmentNames
	walPages     int // written since the last checkpoint

	mu      sync.RWMutex // guards stopped, and the queue against a send after close
	stopped bool
	queue   chan *op
	joining chan *op      // ops that do not start a commit
	done    chan struct{} // closed when the goroutine has ended
}

// counters are running values that the writer caches. A transaction works on a copy,
// which becomes current when it commits.
type counters struct {
	head, pruned, events, received int64
	deleted                        int64        // events deleted since the start
	decided                        int64        // number of decided questions
	lastNameID                     int64        // last ID assigned in the table names
	chain                          tables.Chain // end of the audit log
}

// op is one write. run executes on the writer's goroutine, possibly twice, because the
// first transaction may have been rolled back.
type op struct {
	run            func(t *tx) error
	essential      bool // also runs on a full disk, unlike the append of a plain event
	needsSavepoint bool // has several statements, which must be undone together
	state          atomic.Int32
	err            error
	done           chan struct{} // closed once err is set
}

// The states of an op.
const (
	queued int32 = iota
	taken
	abandoned
)

func newWriter(ctx context.Context, s *engine, cfg *Config) (*writer, error) {
	conn, err := s.writeDB.Conn(ctx)
	if err == nil {
		err = disableAutoCheckpoint(ctx, conn)
	}
	if err != nil {
		return nil, err
	}
	return &writer{
		conn: conn, statements: statements{db: conn, names: s.dictionary}, dictionary: s.dictionary, diskSpace: s.diskSpace, health: s.health, clock: cfg.Clock, log: cfg.Log,
		commits: cfg.Commits, store: s, segmentNames: newSegmentNames(),
		queue: make(chan *op, queueLimit), joining: make(chan *op, joinLimit), done: make(chan struct{}),
	}, nil
}

// do queues an op and waits until it is committed and published. If ctx ends before the
// writer takes the op, do returns ctx.Err() and nothing happens. After that do waits for
// the commit, so the caller owns its bytes again when do returns.
func (w *writer) do(ctx context.Context, o *op) error {
	if err := w.enqueue(o); err != nil {
		return err
	}
	return w.wait(ctx, o)
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
	if err := w.send(o); err != nil && o.state.CompareAndSwap(queued, abandoned) {
		return err
	}
	return w.wait(ctx, o)
}

func (w *writer) enqueue(o *op) error {
	w.store.inspectIfDue()
	if err := w.health.refusal(); err != nil {
		return err
	}
	o.done = make(chan struct{})
	return w.send(o)
}

func (w *writer) send(o *op) error {
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
// out that its disk works again. It does not wait for the write.
func (w *writer) probe() {
	if w.health.claimProbe() {
		_ = w.enqueue(&op{essential: true, run: func(*tx) error { return nil }})
	}
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
	// On its own thread the writer does not queue behind requests for a processor, which
	// makes it 20% faster.
	runtime.LockOSThread()
	defer close(w.done)
	group := make([]*op, 0, groupLimit)
	for o := range w.queue {
		if group = appendClaimed(group[:0], o); len(group) > 0 {
			w.commit(group)
			w.checkpointIfDue()
		}
	}
	w.statements.close()
	_ = w.conn.Close()
}

// checkpointIfDue merges the write-ahead log if it is long. The writer calls it after it has
// released the callers of a commit.
func (w *writer) checkpointIfDue() {
	pages, err := pagesWritten(w.conn)
	if err != nil {
		w.log.Error("pages of the write-ahead log not counted", "err", err)
		pages = checkpointPages
	}
	w.walPages += pages
	if f := w.health.current(); w.walPages < checkpointPages || f != nil && f.refuses() {
		return
	}
	var isBusy, logged, merged int
	err = w.statements.get(context.Background(), []any{&isBusy, &logged, &merged}, `PRAGMA wal_checkpoint(PASSIVE)`)
	w.health.recordCheckpoint(err)
	w.walPages = 0
	if err != nil || merged < logged {
		w.walPages = checkpointPages - checkpointRetryPages
	}
}

// takeQueued adds the queued ops to the group.
func (w *writer) takeQueued(group []*op) []*op {
	for len(group) < groupLimit {
		select {
		case o, ok := <-w.queue:
			if !ok {
				return group
			}
			group = appendClaimed(group, o)
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

// commit runs a group of ops in one transaction and adds ops that arrive in the meantime.
// On a full disk it deletes the reserve file and runs the essential ops again.
func (w *writer) commit(group []*op) {
	if err := w.health.refusal(); err != nil {
		finish(group, err)
		return
	}
	start := time.Now()
	group, err := w.attempt(group, w.takeQueued)
	if isFull(err) {
		w.diskSpace.releaseReserve()
		_, err = w.attempt(w.failDroppable(group), nil)
	}
	w.health.record(len(group), err)
	if w.commits != nil {
		w.commits.Committed(store.Commit{Ops: len(group), Duration: time.Since(start), Err: err})
	}
	finish(group, errOfCommit(err))
}

// finish releases the callers of a group. An error that is not nil replaces the errors of the ops.
func finish(group []*op, err error) {
	for _, o := range group {
		if err != nil {
			o.err = err
		}
		close(o.done)
	}
}

// failDroppable fails the ops that are not essential and returns the essential ones.
func (w *writer) failDroppable(group []*op) []*op {
	essential := make([]*op, 0, len(group))
	for _, o := range group {
		if o.essential {
			essential = append(essential, o)
			continue
		}
		o.err = w.diskSpace.refusal()
	}
	return essential
}

// attempt commits and publishes the group, or changes nothing. It calls more after all
// ops have run, until more adds nothing, and returns the extended group.
func (w *writer) attempt(group []*op, more func([]*op) []*op) ([]*op, error) {
	t := &tx{w: w, Names: writerNames{w}, counters: w.counters, now: w.clock()}
	t.Work = w.store.Begin(t)
	if _, err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return group, err
	}
	err := t.runAll(group)
	for done := len(group); err == nil && more != nil; done = len(group) {
		if group = more(group); len(group) == done {
			break
		}
		err = t.runAll(group[done:])
	}
	written := t.mustWriteCounters()
	if err == nil && written {
		err = t.writeCounters()
	}
	if err == nil && w.health.faulty.Load() {
		err = t.writePage()
	}
	if err == nil {
		_, err = t.exec("COMMIT")
	}
	if err != nil {
		// SQLite may have rolled back already.
		_, _ = t.exec("ROLLBACK")
		t.clearCaches()
		return group, err
	}
	w.counters = t.counters
	if written {
		w.stored = t.counters
	}
	t.Work.Commit()
	w.store.State.Events.Store(t.counters.events)
	w.store.State.Decided.Store(t.counters.decided)
	w.store.State.Pruned.Store(t.counters.pruned)
	w.store.State.Head.Store(t.counters.head)
	w.store.State.Tail.Append(t.Rows(), t.counters.pruned)
	w.store.MeasureGrowth(t.Rows())
	if w.publish != nil && len(t.Rows()) > 0 {
		w.publish(t.Rows())
	}
	return group, nil
}
