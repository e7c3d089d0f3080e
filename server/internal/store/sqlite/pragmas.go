package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
)

// pragma is one pragma: the value set in the DSN, and the value it must read back as.
type pragma struct{ name, value, want string }

// pragmas returns the pragmas of every connection. They are part of the DSN because an
// executed PRAGMA affects only one pooled connection.
func pragmas(synchronous string, readOnly bool) []pragma {
	level := map[string]string{"NORMAL": "1", "FULL": "2"}[synchronous]
	both := []pragma{
		{"busy_timeout", "5000", "5000"},
		{"journal_mode", "WAL", "wal"},
		{"synchronous", synchronous, level},
		{"trusted_schema", "0", "0"},
		{"cell_size_check", "1", "1"},
		// Otherwise a redacted or pruned secret stays in the file's free pages.
		{"secure_delete", "1", "1"},
		// The writer checkpoints itself: see initialize.
		{"wal_autocheckpoint", "1000", "1000"},
		{"journal_size_limit", "67108864", "67108864"},
	}
	if tempInMemory() {
		both = append(both, pragma{"temp_store", "2", "2"})
	}
	if readOnly {
		return append(both, pragma{"query_only", "1", "1"})
	}
	return append(both, pragma{"query_only", "0", "0"})
}

// dsn returns the data source name of a database, including its pragmas. The driver ignores a typo in one: see
// checkPragmas.
func dsn(file, synchronous string, readOnly bool) string {
	// With mode rw a database that was removed is not replaced by an empty one.
	q := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_dqs": {"0"}, "_defensive": {"1"}}
	for _, s := range pragmas(synchronous, readOnly) {
		q.Add("_pragma", s.name+"("+s.value+")")
	}
	if readOnly {
		q.Set("_txlock", "deferred")
	}
	return fileURI(file, q)
}

func fileURI(file string, q url.Values) string {
	path := filepath.ToSlash(file)
	if filepath.VolumeName(file) != "" {
		path = "/" + path
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// checkPragmas reads the pragmas back from a connection of db.
func checkPragmas(ctx context.Context, db *sql.DB, synchronous string, readOnly bool) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for _, s := range pragmas(synchronous, readOnly) {
		var got string
		if err := conn.QueryRowContext(ctx, "PRAGMA "+s.name).Scan(&got); err != nil {
			return fmt.Errorf("read the pragma %s: %w", s.name, err)
		}
		if got != s.want {
			return fmt.Errorf("SQLite did not accept %s=%s (it reports %s), so answers could be lost; nothing was opened; use another file system or build of SQLite", s.name, s.value, strconv.Quote(got))
		}
	}
	return nil
}

// tempInMemory reports whether SQLite has no directory for temporary files, which migrations and large
// sorts need. A service or container with a read-only system often has none. Without temp_store=MEMORY
// SQLite then fails with "unable to open database file" or "disk I/O error".
var tempInMemory = sync.OnceValue(func() bool {
	if runtime.GOOS == "windows" {
		return false // SQLite asks the system
	}
	return !isAnyWritable(os.Getenv("SQLITE_TMPDIR"), os.Getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp", ".") //nolint:forbidigo // the places where SQLite looks
})

// isAnyWritable reports whether a file can be created in one of the directories.
func isAnyWritable(dirs ...string) bool {
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if f, err := os.CreateTemp(dir, "hookback-*"); err == nil {
			_ = f.Close()
			_ = os.Remove(f.Name()) //nolint:gosec // the file of CreateTemp
			return true
		}
	}
	return false
}
