package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookback/hookback/server/internal/store/tables"
)

// openFiles are the database's files as the hub has them open. They have the locks that keep
// a second hub away, and show whether a file was removed, moved or replaced since.
type openFiles struct {
	file          string
	lock          io.Closer
	database, wal *os.File // SQLite has its own descriptors
}

// openDatabaseFiles creates the database if needed and locks it. Close must be called after
// SQLite closed the file: closing a descriptor may drop SQLite's locks.
func openDatabaseFiles(file string) (f *openFiles, err error) {
	f = &openFiles{file: file}
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
	f.wal, err = os.Open(f.file + "-wal")
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

func (f *openFiles) Close() error {
	var errs []error
	if f.database != nil {
		unlockFile(f.database)
		errs = append(errs, f.database.Close())
	}
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(errs...)
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
