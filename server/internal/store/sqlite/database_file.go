package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hookback/hookback/server/internal/store/tables"
)

// lockSuffix is appended to the database's name for the lock file, which keeps a second
// hub from opening the database.
const lockSuffix = ".lock"

// reserveSuffix is appended to the database's name for the reserve file.
const reserveSuffix = ".ballast"

// databasePath returns Config.Path as an absolute file name.
func databasePath(path string) (string, error) {
	name := strings.TrimPrefix(path, "sqlite:")
	if name == "" || strings.HasPrefix(name, ":") {
		return "", fmt.Errorf("the database must be a file, not %q; use a file name or sqlite:FILE", path)
	}
	return filepath.Abs(name)
}

// requireNotLost fails if there is no database but files that belong to one, so that a database
// that was removed by mistake is not silently replaced by an empty one. A hub that is killed
// while it creates its database leaves an empty file, without a write-ahead log and a reserve.
func requireNotLost(file string) error {
	info, err := os.Lstat(file)
	if err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // a later step reports the problem
	}
	isMissing := err != nil
	var left []string
	for _, suffix := range []string{"-wal", reserveSuffix, lockSuffix} {
		found, err := os.Lstat(file + suffix)
		if err == nil && (isMissing || suffix != lockSuffix && found.Size() > 0) {
			left = append(left, file+suffix)
		}
	}
	if len(left) == 0 {
		return nil
	}
	state := "is empty"
	if isMissing {
		state = "is missing"
	}
	return fmt.Errorf("the database %s, but there is %s; nothing was changed; if a hub is still running, rescue its database with hookback-server rescue FILE; otherwise restore a backup, or remove these files for a new, empty database",
		state, strings.Join(left, ", "))
}

// requireHubDatabase fails if file exists and is not a hub's database. It runs before
// anything is written to the file or next to it, because -db may name any file by
// mistake. If our lock file exists, the check is skipped.
func requireHubDatabase(ctx context.Context, file string) error {
	info, err := os.Lstat(file)
	_, errLock := os.Lstat(file + lockSuffix)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || errLock == nil {
		return nil // a new file, or a later step reports the problem
	}
	db, err := sql.Open("sqlite", fileURI(file, url.Values{"mode": {"ro"}, "immutable": {"1"}}))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var ours bool
	err = db.QueryRowContext(ctx, `SELECT count(*) = 0 OR total(name IN ('hub', 'goose_db_version')) > 0 FROM sqlite_master`).Scan(&ours)
	if isNotDatabase(err) || err == nil && !ours {
		return fmt.Errorf("%s is not a hub's database; nothing was changed; choose another file with -db, or restore a backup if it was one", file)
	}
	return err
}

// openError adds the kept state and the next step to an error of SQLite while it opens a database.
func openError(err error) error {
	var next string
	switch code := codeOf(err); {
	case isNotDatabase(err):
		next = "the file's header is damaged; nothing was changed; keep a copy of the database's files, and restore a backup"
	case code&0xff == sqlite3.SQLITE_CORRUPT:
		next = "the database is damaged; keep a copy of its files, and restore a backup"
	case isBusy(err):
		next = "another program has locked the database; nothing was changed; stop that program"
	case slices.Contains(lockFailures, code) || code&0xff == sqlite3.SQLITE_PROTOCOL:
		next = "the file system does not support the locks or the shared memory of SQLite, as some network disks; nothing was stored; choose a file on a local disk with -db"
	case code&0xff == sqlite3.SQLITE_IOERR:
		next = "the disk reports an error; check it, and that it is not mounted read-only"
	case code&0xff == sqlite3.SQLITE_READONLY || code&0xff == sqlite3.SQLITE_CANTOPEN:
		next = "make the database's files and their folder writable for the hub's account"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, next)
}

var lockFailures = []int{
	sqlite3.SQLITE_IOERR_LOCK, sqlite3.SQLITE_IOERR_RDLOCK, sqlite3.SQLITE_IOERR_UNLOCK, sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
	sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMLOCK, sqlite3.SQLITE_IOERR_SHMMAP,
}

// ensurePrivateFile creates file if needed and makes sure that it is a regular file
// with mode 0600. It must run before SQLite opens the file: closing another descriptor
// of the same file would drop SQLite's locks.
func ensurePrivateFile(file string) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("create the database: %w", err)
		}
		return f.Close()
	case err != nil:
		return fmt.Errorf("inspect the database: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; nothing was opened; use the database's real path rather than a link", file)
	}
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restrict access to the database: %w", err)
		}
	}
	return nil
}

// fileSize returns the size of a file, or 0. It uses stat because opening and closing the
// file would drop SQLite's locks.
func fileSize(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// openFiles are the database's files as the hub has them open. They have the locks that keep
// a second hub away, and show whether a file was removed, moved or replaced since.
type openFiles struct {
	lock          io.Closer
	database, wal *os.File // SQLite has its own descriptors
}

// openDatabaseFiles creates the database if needed and locks it. Close must be called after
// SQLite closed the file: closing a descriptor may drop SQLite's locks.
func openDatabaseFiles(file string) (f *openFiles, err error) {
	f = &openFiles{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
			f = nil
		}
	}()
	if err := requireNotLost(file); err != nil {
		return f, err
	}
	// The database comes before its lock file: see requireNotLost.
	if err := ensurePrivateFile(file); err != nil {
		return f, err
	}
	if f.lock, err = lock(file + lockSuffix); err != nil {
		return f, err
	}
	if f.database, err = os.OpenFile(file, os.O_RDWR, 0); err != nil {
		return f, err
	}
	return f, lockFile(f.database)
}

// openWAL opens the write-ahead log, which exists once SQLite has the database open.
func (f *openFiles) openWAL() (err error) {
	f.wal, err = os.Open(f.database.Name() + "-wal")
	return err
}

// closeWAL must be called before SQLite closes the database: some systems remove no file that
// is open.
func (f *openFiles) closeWAL() error {
	if f == nil || f.wal == nil {
		return nil
	}
	return f.wal.Close()
}

// Close releases the locks.
func (f *openFiles) Close() error {
	var errs [2]error
	if f != nil && f.database != nil {
		unlockFile(f.database)
		errs[0] = f.database.Close()
	}
	if f != nil && f.lock != nil {
		errs[1] = f.lock.Close()
	}
	return errors.Join(errs[:]...)
}

// check returns a fault if the name of an open file no longer leads to it.
func (f *openFiles) check() *tables.Fault {
	for _, open := range []*os.File{f.database, f.wal} {
		named, err := os.Lstat(open.Name())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // a write shows whether the disk fails
		}
		info, statErr := open.Stat()
		if statErr != nil || err == nil && os.SameFile(named, info) {
			continue
		}
		if err == nil {
			err = fs.ErrExist
		}
		return &tables.Fault{
			Detail: filepath.Base(open.Name()) + " was removed, moved or replaced while the hub runs, so nothing is stored; everything acknowledged before is kept until the hub stops",
			Next:   "If the file was moved, move it back. Otherwise run hookback-server rescue FILE before you stop the hub, and start it with that copy.",
			Cause:  fmt.Errorf("%s: %w", open.Name(), err), Kind: tables.GoneFile,
		}
	}
	return nil
}
