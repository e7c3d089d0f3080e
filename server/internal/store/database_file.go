package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// lockSuffix names the file beside the database that keeps a second hub off it.
const lockSuffix = ".lock"

// databasePath makes an absolute file name of Config.Path.
func databasePath(path string) (string, error) {
	name := strings.TrimPrefix(path, "sqlite:")
	if name == "" || strings.HasPrefix(name, ":") {
		return "", fmt.Errorf("the database must be a file, not %q: give its name, or sqlite:FILE", path)
	}
	return filepath.Abs(name)
}

// requireHubDatabase refuses a file that is there and is no hub's, before anything is done
// to it or beside it: -db may name anything by mistake. Behind a lock of ours
// there is nothing to find out.
func requireHubDatabase(ctx context.Context, file string) error {
	info, err := os.Lstat(file)
	_, errLock := os.Lstat(file + lockSuffix)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || errLock == nil {
		return nil // a new one, or others say what is wrong with it
	}
	db, err := sql.Open("sqlite", fileURI(file, url.Values{"mode": {"ro"}, "immutable": {"1"}}))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var ours bool
	err = db.QueryRowContext(ctx, `SELECT count(*) = 0 OR total(name IN ('hub', 'goose_db_version')) > 0 FROM sqlite_master`).Scan(&ours)
	if isNotDatabase(err) || err == nil && !ours {
		return fmt.Errorf("%s is not a hub's database: nothing was changed; give another file with -db", file)
	}
	return err
}

func isNotDatabase(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_NOTADB
}

func ensurePrivateDir(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make the database's folder: %w", err)
	}
	return nil
}

// ensurePrivateFile makes sure that file is there, is a plain file and is nobody
// else's to read. It must run before SQLite has the file open: closing another
// descriptor of it would drop SQLite's locks.
func ensurePrivateFile(file string) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("make the database: %w", err)
		}
		return f.Close()
	case err != nil:
		return fmt.Errorf("look at the database: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is a link or no plain file: nothing was opened; give the database's real name", file)
	}
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make the database private: %w", err)
		}
	}
	return nil
}
