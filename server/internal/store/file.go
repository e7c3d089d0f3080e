package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// databaseFile makes an absolute file name of Config.Path.
func databaseFile(path string) (string, error) {
	name := strings.TrimPrefix(path, "sqlite:")
	if name == "" || strings.HasPrefix(name, ":") {
		return "", fmt.Errorf("the database must be a file, not %q: give its name, or sqlite:FILE", path)
	}
	return filepath.Abs(name)
}

func privateFolder(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make the database's folder: %w", err)
	}
	return nil
}

// privateFile makes sure that file is there, is a plain file and is nobody
// else's to read. It must run before SQLite has the file open: closing another
// descriptor of it would drop SQLite's locks.
func privateFile(file string) error {
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
