package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
