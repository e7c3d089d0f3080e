package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hookback/hookback/schema"
)

// fault is a reason why the hub refuses writes, or soon will.
type fault struct {
	kind   faultKind
	detail string // the failure and the kept state, for /readyz
	next   string // the next step of an operator, an imperative sentence
	cause  error
}

// faultKind is how a fault ends.
type faultKind int

const (
	failedCommit     faultKind = iota // with a successful commit
	failedCheckpoint                  // with a successful checkpoint; commits may succeed
	goneFile                          // when the file is back; writes fail without an attempt
	failedSync                        // with the process; writes fail without an attempt
)

func (f *fault) refuses() bool { return f.kind >= goneFile }

// err returns the error of a write that the fault prevents.
func (f *fault) err() error {
	if f.kind == failedSync {
		return &schema.HintError{Err: fmt.Errorf("%w: %s", schema.ErrStopping, f.detail), Hint: "Send this again when the hub runs. " + f.next}
	}
	return &schema.HintError{Err: fmt.Errorf("%w: %s", schema.ErrStorage, f.detail), Hint: "This was not stored: " + f.detail + ". " + f.next}
}

// health is whether the database accepts writes. A failed commit sets a fault, and
// the next successful one clears it. It logs the start and the end of a fault, not the writes
// in between.
type health struct {
	clock   func() time.Time
	log     *slog.Logger
	faulty  atomic.Bool // fault is set
	refused atomic.Int64
	failed  context.Context // ends with a fatal fault
	fail    context.CancelFunc

	mu       sync.Mutex // guards the fields below
	fault    *fault
	since    time.Time
	before   int64 // refused when the fault began
	probedAt time.Time
}

func newHealth(clock func() time.Time, log *slog.Logger) *health {
	h := &health{clock: clock, log: log}
	h.failed, h.fail = context.WithCancel(context.Background())
	return h
}

// current returns the fault, or nil.
func (h *health) current() *fault {
	if !h.faulty.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// refusal returns the error of writes that must not be attempted, or nil.
func (h *health) refusal() error {
	if f := h.current(); f != nil && f.refuses() {
		h.refused.Add(1)
		return f.err()
	}
	return nil
}

// set starts a fault, or replaces it by another one. A fatal fault stays.
func (h *health) set(f *fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != nil && (h.fault.kind == failedSync || h.fault.detail == f.detail) {
		return
	}
	if h.fault == nil {
		h.since, h.before = h.clock(), h.refused.Load()
	}
	h.fault = f
	h.faulty.Store(true)
	h.log.Error("database fault", "reason", f.detail, "err", f.cause, "next", f.next)
	if f.kind == failedSync {
		h.fail()
	}
}

// clear ends a fault of this kind, and reports whether there was one.
func (h *health) clear(kind faultKind) bool {
	if !h.faulty.Load() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault == nil || h.fault.kind != kind {
		return false
	}
	h.log.Info("database fault over", "reason", h.fault.detail, "seconds", h.clock().Sub(h.since).Seconds(), "refused", h.refused.Load()-h.before)
	h.fault = nil
	h.faulty.Store(false)
	return true
}

// record notes the result of a group commit with ops writes.
func (h *health) record(ops int, err error) {
	if err == nil {
		h.clear(failedCommit)
		return
	}
	h.refused.Add(int64(ops))
	h.set(commitFault(err))
}

// recordCheckpoint notes the result of a checkpoint. Commits succeed while only checkpoints
// fail, so the write-ahead log grows until the disk is full.
func (h *health) recordCheckpoint(err error) {
	switch {
	case err == nil:
		h.clear(failedCheckpoint)
	case isFull(err) || isBusy(err): // commits show the first, and the second ends by itself
	default:
		f := commitFault(err)
		if f.kind == failedCommit {
			f.kind = failedCheckpoint
			f.detail = "the disk reports an error when the write-ahead log is merged into the database: events are stored, but the log grows; " + keptSentence
		}
		h.set(f)
	}
}

// probeInterval is the minimum time between two probes.
const probeInterval = time.Second

// claimProbe reports whether a write must find out whether the fault is over.
func (h *health) claimProbe() bool {
	if f := h.current(); f == nil || f.kind != failedCommit {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clock().Sub(h.probedAt).Abs() < probeInterval {
		return false
	}
	h.probedAt = h.clock()
	return true
}

const (
	keptSentence = "everything acknowledged before is kept"
	// endsWithWrite is the hint of faults that end with the next successful write.
	endsWithWrite = " The hub stores again as soon as a write succeeds."
)

// errNoReserve is the error of every write on a disk that is full without the reserve, too.
var errNoReserve = &schema.HintError{
	Err: fmt.Errorf("%w, and the reserve for questions and answers is used up", schema.ErrFull),
	Hint: "This was not stored, and neither are questions and answers: the disk that holds the hub's database is full, and the reserve is used up. " +
		"Everything acknowledged before is kept. Free space on that disk; the hub stores again as soon as a write succeeds.",
}

// commitFault classifies the error of a failed commit.
func commitFault(err error) *fault {
	f := &fault{cause: err, detail: "the database does not accept writes; " + keptSentence, next: "See the hub's log." + endsWithWrite}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return f
	}
	switch {
	case e.Code() == sqlite3.SQLITE_IOERR_FSYNC || e.Code() == sqlite3.SQLITE_IOERR_DIR_FSYNC:
		// The kernel marks pages as clean that it failed to write, so a second fsync succeeds
		// although they are not on the disk.
		f.detail = "the disk did not confirm a write (fsync failed), so the hub stops; " + keptSentence
		f.next = "Check the disk of the hub's database, then start the hub again."
		f.kind = failedSync
	case isFull(err):
		f.detail = "the disk is full and the reserve is used up, so nothing is stored; " + keptSentence
		f.next = "Free space on the disk of the hub's database." + endsWithWrite
	case isBusy(err):
		f.detail = "another program has locked the database, so nothing is stored; " + keptSentence
		f.next = "Stop the program that has the hub's database open." + endsWithWrite
	case e.Code()&0xff == sqlite3.SQLITE_READONLY:
		f.detail = "the database is read-only, so nothing is stored; " + keptSentence
		f.next = "Make the hub's database and its folder writable for the hub's account." + endsWithWrite
	case e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB:
		f.detail = "the database is damaged, so nothing is stored"
		f.next = "Stop the hub, keep a copy of its database files, run hookback-server check, and restore a backup."
	case e.Code()&0xff == sqlite3.SQLITE_IOERR:
		f.detail = "the disk reports an error, so nothing is stored; " + keptSentence
		f.next = "Check the disk of the hub's database, and that it is not mounted read-only." + endsWithWrite
	}
	return f
}

// errOfCommit maps the error of a failed commit to one of package schema.
func errOfCommit(err error) error {
	switch {
	case isFull(err):
		return errNoReserve
	case isBusy(err):
		return fmt.Errorf("%w: another program locked the database: %w", schema.ErrBusy, err)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	return commitFault(err).err()
}

// isFull reports whether SQLite ran out of disk space, including the case where it
// could not grow its shared memory file.
func isFull(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}

// isBusy reports whether another program held the database lock.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
