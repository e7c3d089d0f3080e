package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// recordCheckpoint notes the result of a checkpoint. Commits succeed while only checkpoints
// fail, so the write-ahead log grows until the disk is full.
func recordCheckpoint(h *tables.Health, err error) {
	switch {
	case err == nil:
		h.Clear(tables.FailedCheckpoint)
	case isFull(err) || isBusy(err): // commits show the first, and the second ends by itself
	default:
		f := commitFault(err)
		if f.Kind == tables.FailedCommit {
			f.Kind = tables.FailedCheckpoint
			f.Detail = "the disk reports an error when the write-ahead log is merged into the database: events are stored, but the log grows; " + keptSentence
		}
		h.Set(f)
	}
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

// commitFault classifies the error of a failed commit; nil: it succeeded.
func commitFault(err error) *tables.Fault {
	if err == nil {
		return nil
	}
	f := &tables.Fault{Cause: err, Detail: "the database does not accept writes; " + keptSentence, Next: "See the hub's log." + endsWithWrite}
	switch code := codeOf(err); {
	case code == sqlite3.SQLITE_IOERR_FSYNC || code == sqlite3.SQLITE_IOERR_DIR_FSYNC:
		// The kernel marks pages as clean that it failed to write, so a second fsync succeeds
		// although they are not on the disk.
		f.Detail = "the disk did not confirm a write (fsync failed), so the hub stops; " + keptSentence
		f.Next = "Check the disk of the hub's database, then start the hub again."
		f.Kind = tables.Fatal
	case isFull(err):
		f.Detail = "the disk is full and the reserve is used up, so nothing is stored; " + keptSentence
		f.Next = "Free space on the disk of the hub's database." + endsWithWrite
	case isBusy(err):
		f.Detail = "another program has locked the database, so nothing is stored; " + keptSentence
		f.Next = "Stop the program that has the hub's database open." + endsWithWrite
	case code&0xff == sqlite3.SQLITE_READONLY:
		f.Detail = "the database is read-only, so nothing is stored; " + keptSentence
		f.Next = "Make the hub's database and its folder writable for the hub's account." + endsWithWrite
	case code&0xff == sqlite3.SQLITE_CORRUPT || isNotDatabase(err):
		f.Detail = "the database is damaged, so nothing is stored"
		f.Next = "Stop the hub, keep a copy of its database files, run hookback-server check, and restore a backup."
	case code&0xff == sqlite3.SQLITE_IOERR:
		f.Detail = "the disk reports an error, so nothing is stored; " + keptSentence
		f.Next = "Check the disk of the hub's database, and that it is not mounted read-only." + endsWithWrite
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
	case codeOf(err) == 0:
		return err
	default:
		return commitFault(err).Err()
	}
}

// codeOf returns the extended result code of an error of SQLite, whose lowest byte is the primary one; 0: it is none.
func codeOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// isFull reports whether SQLite ran out of disk space, including the case where it
// could not grow its shared memory file.
func isFull(err error) bool {
	code := codeOf(err)
	return code&0xff == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR_SHMSIZE
}

// isBusy reports whether another program held the database lock.
func isBusy(err error) bool { return codeOf(err)&0xff == sqlite3.SQLITE_BUSY }

func isNotDatabase(err error) bool { return codeOf(err)&0xff == sqlite3.SQLITE_NOTADB }
