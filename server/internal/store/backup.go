package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup writes a consistent, compact copy of the database to file, mode 0600,
// while the hub goes on. It refuses to overwrite, and leaves nothing behind when
// it fails.
func (s *Store) Backup(ctx context.Context, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s: %w; nothing was written, give a new name", file, fs.ErrExist)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // mode 0600, and empty, which VACUUM takes
	if err != nil {
		return fmt.Errorf("make the backup: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	for _, step := range []func() error{
		temp.Close,
		func() error { return s.vacuumInto(ctx, temp.Name()) },
		func() error { return syncFile(temp.Name()) },
		func() error { return rename(temp.Name(), file) },
		func() error { return syncFile(filepath.Dir(file)) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("make the backup %s: %w; the hub's own database is as it was", file, err)
		}
	}
	return nil
}

// vacuumInto uses a connection of its own: the readers may not write, not even
// elsewhere.
func (s *Store) vacuumInto(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", dsn(s.file, "FULL", false))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, file)
	return err
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// rename gives the finished copy its name. A link does not overwrite; where
// there are none, the name was free a moment ago.
func rename(temp, file string) error {
	err := os.Link(temp, file)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(temp, file)
}
