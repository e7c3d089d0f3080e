package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup writes a consistent, compact copy of the database at path to file with mode 0600.
// A hub may have the database open. It does not overwrite, and leaves no file behind on
// failure.
func Backup(ctx context.Context, path, file string) error {
	db, err := openExisting(path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := requireNew(file); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // mode 0600 and empty, which VACUUM INTO accepts
	if err != nil {
		return fmt.Errorf("create the backup: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	err = temp.Close()
	if err == nil {
		_, err = db.ExecContext(ctx, `VACUUM INTO ?`, temp.Name())
	}
	if err == nil {
		err = finishCopy(temp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("create the backup %s: %w; the hub's database is unchanged", file, err)
	}
	return nil
}

func requireNew(file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s: %w; nothing was written, choose a new name", file, fs.ErrExist)
	}
	return nil
}

// Check reads the whole database at path and returns an error for the first corruption
// that SQLite finds. A hub may have the database open.
func Check(ctx context.Context, path string) error {
	db, err := openExisting(path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var result string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&result); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if result != "ok" {
		return fmt.Errorf("the database is corrupt: %s; stop the hub, keep a copy of the file, and restore a backup", result)
	}
	return nil
}

// openExisting opens a separate connection to an existing database. The hub's readers
// can't make a backup: query_only also forbids VACUUM INTO.
func openExisting(path string) (*sql.DB, error) {
	file, err := databasePath(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("find the database: %w", err)
	}
	db, err := sql.Open("sqlite", dsn(file, "FULL", false))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// finishCopy moves a complete copy to its final name and waits until it is on the disk. A hard link never
// overwrites. Where links are not supported, it falls back to a rename; the name was free when the copy began.
func finishCopy(temp, file string) error {
	if err := syncFile(temp); err != nil {
		return err
	}
	err := os.Link(temp, file)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(temp, file)
	}
	if err != nil {
		return err
	}
	return syncFile(filepath.Dir(file))
}

// RescueReport describes a copy that Rescue made.
type RescueReport struct {
	PID    int   // of the hub whose database was copied
	Events int64 // in the copy
	Newest int64 // number of the newest one; 0: none
}

// Rescue copies the database that a running hub has open and whose file at path was removed or
// replaced, with the commits in its write-ahead log, to file with mode 0600. It reads the hub's
// descriptors and writes nothing else. It does not overwrite, verifies the copy, and leaves no
// file behind on failure. It exists on Linux.
func Rescue(ctx context.Context, path, file string) (report RescueReport, err error) {
	source, err := databasePath(path)
	if err != nil {
		return report, err
	}
	if err := requireNew(file); err != nil {
		return report, err
	}
	lost, err := findLostDatabase(source)
	if err != nil {
		return report, err
	}
	report.PID = lost.pid
	dir, err := os.MkdirTemp(filepath.Dir(file), ".rescue-*")
	if err != nil {
		return report, fmt.Errorf("create the copy: %w; choose another folder", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	temp := filepath.Join(dir, "copy.db")
	if err = lost.copyTo(temp); err == nil {
		err = report.verify(ctx, temp)
	}
	if err == nil {
		err = finishCopy(temp, file)
	}
	if err != nil {
		err = fmt.Errorf("create the copy %s: %w; the hub still has its database: do not stop it before a copy succeeds", file, err)
	}
	return report, err
}

// verify reads the whole copy and merges its write-ahead log into it.
func (r *RescueReport) verify(ctx context.Context, file string) error {
	if err := Check(ctx, file); err != nil {
		return err
	}
	db, err := openExisting(file)
	if err != nil {
		return err
	}
	err = db.QueryRowContext(ctx, `SELECT count(*), coalesce(max(seq), 0) FROM events`).Scan(&r.Events, &r.Newest)
	if err = errors.Join(err, db.Close()); err != nil { // the last connection merges the log
		return err
	}
	if _, err := os.Lstat(file + "-wal"); err == nil {
		return errors.New("its write-ahead log was not merged")
	}
	return nil
}

// lostDatabase are a database and its write-ahead log, as names of open descriptors.
type lostDatabase struct {
	pid           int
	database, wal string
}

// copyAttempts bounds the copies of a database that changes in the meantime. A hub whose files
// are gone writes nothing.
const copyAttempts = 5

func (l *lostDatabase) copyTo(file string) error {
	for range copyAttempts {
		before, err := l.versions()
		if err == nil {
			err = errors.Join(copyFile(l.database, file), copyFile(l.wal, file+"-wal"))
		}
		after := before
		if err == nil {
			after, err = l.versions()
		}
		if err != nil || before == after {
			return err
		}
	}
	return errors.New("the hub still writes to it; post nothing for a moment and try again")
}

// versions returns the sizes and times of the files, which change with each write.
func (l *lostDatabase) versions() (v [4]int64, err error) {
	for i, name := range []string{l.database, l.wal} {
		info, err := os.Stat(name)
		if err != nil {
			return v, err
		}
		v[2*i], v[2*i+1] = info.Size(), info.ModTime().UnixNano()
	}
	return v, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	return errors.Join(err, in.Close())
}
