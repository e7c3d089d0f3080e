package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"time"

	"modernc.org/sqlite"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// writer owns the connection that writes. It commits whatever is queued, never waits for
// a group to fill, and runs until stop.
type writer struct {
	*engine
	conn         *sql.Conn
	statements   statements // prepared on conn
	publish      func([]store.LogRow)
	counters     counters // as of the last commit
	stored       counters // as of the last commit that wrote them to the table streams
	segmentNames tables.SegmentNames[int64]
	walPages     int // written since the last checkpoint
}

// counters are running values that the writer caches. A transaction works on a copy,
// which becomes current when it commits.
type counters struct {
	tables.Counters
	lastNameID int64 // last ID assigned in the table names
}

// refusal returns the error of a write that must not be attempted, or nil.
func (s *engine) refusal(o *tables.Op) error {
	if o.Kind&tables.PlainEvent != 0 {
		if err := s.diskSpace.requireRoom(); err != nil {
			return err
		}
	}
	s.inspectIfDue()
	return s.health.Refusal()
}

func (w *writer) run() {
	// On its own thread the writer does not queue behind requests for a processor, which
	// makes it 20% faster.
	runtime.LockOSThread()
	w.Queue.Run(func(group []*tables.Op) {
		w.commit(group)
		w.checkpointIfDue()
	}, func() {
		w.statements.close()
		_ = w.conn.Close()
	})
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
	if f := w.health.Current(); w.walPages < checkpointPages || f != nil && f.Refuses() {
		return
	}
	var isBusy, logged, merged int
	_, err = w.statements.get(context.Background(), []any{&isBusy, &logged, &merged}, `PRAGMA wal_checkpoint(PASSIVE)`)
	recordCheckpoint(w.health, err)
	w.walPages = 0
	if err != nil || merged < logged {
		w.walPages = checkpointPages - checkpointRetryPages
	}
}

// commit runs a group of ops in one transaction and adds ops that arrive in the meantime.
// On a full disk it deletes the reserve file and runs the essential ops again. Without any of them the reserve stays:
// work in the background would free it for whatever fills the disk.
func (w *writer) commit(group []*tables.Op) {
	if err := w.health.Refusal(); err != nil {
		tables.Finish(group, err)
		return
	}
	start := time.Now()
	group, err := w.attempt(group, w.Queue.Take)
	if isFull(err) {
		essential := w.failDroppable(group)
		w.diskSpace.full(len(essential) > 0)
		_, err = w.attempt(essential, nil)
	}
	w.health.Record(len(group), commitFault(err))
	if w.commits != nil {
		w.commits.Committed(store.Commit{Ops: len(group), Duration: time.Since(start), Err: err})
	}
	tables.Finish(group, errOfCommit(err))
}

// failDroppable fails the ops that are not essential and returns the essential ones.
func (w *writer) failDroppable(group []*tables.Op) []*tables.Op {
	essential := make([]*tables.Op, 0, len(group))
	for _, o := range group {
		if o.Kind&tables.Essential != 0 {
			essential = append(essential, o)
			continue
		}
		o.Err = w.diskSpace.refusal()
	}
	return essential
}

// attempt commits and publishes the group, or changes nothing. It calls more after all
// ops have run, until more adds nothing, and returns the extended group.
func (w *writer) attempt(group []*tables.Op, more func([]*tables.Op) []*tables.Op) ([]*tables.Op, error) {
	t := &tx{numberedNames: numberedNames{&w.statements}, w: w, counters: w.counters}
	t.work = w.Begin(t, w.clock(), &t.counters.Counters)
	if err := t.Exec("BEGIN IMMEDIATE"); err != nil {
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
	if err == nil && w.health.Current() != nil {
		err = t.writePage()
	}
	if err == nil {
		err = t.Exec("COMMIT")
	}
	if err != nil {
		// SQLite may have rolled back already.
		_ = t.Exec("ROLLBACK")
		t.ForgetNames()
		return group, err
	}
	w.counters = t.counters
	if written {
		w.stored = t.counters
	}
	t.work.Commit()
	rows := t.work.Rows()
	w.State.Tail.Append(rows, t.counters.Pruned)
	w.MeasureGrowth(rows)
	if w.publish != nil && len(rows) > 0 {
		w.publish(rows)
	}
	return group, nil
}

const (
	// checkpointPages is the number of pages in the write-ahead log after which it is merged into
	// the database. More are 10% faster but double the p99.
	checkpointPages = 1000
	// checkpointRetryPages is that number after a checkpoint that failed, or that a reader
	// stopped before the end.
	checkpointRetryPages = 100
)

// pagesWritten returns the number of pages that the connection has written since the last call.
func pagesWritten(conn *sql.Conn) (n int, err error) {
	rawErr := conn.Raw(func(driver any) error {
		status, ok := driver.(sqlite.DBStatus)
		if !ok {
			return fmt.Errorf("the driver %T has no counters", driver)
		}
		n, _, err = status.Status(sqlite.DBStatusCacheWrite, true)
		return err
	})
	return n, rawErr
}
