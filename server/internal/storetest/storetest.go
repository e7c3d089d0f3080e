// Package storetest opens stores for tests. Every test has its own database. Its schema is
// migrated once per test program, because under the race detector that takes longer than
// most tests. Package conformance below holds the tests that every engine passes.
package storetest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookback/hookback/server/internal/pgtest"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/postgres"
	"github.com/hookback/hookback/server/internal/store/sqlite"
)

// Options are the options of Open.
type Options struct {
	File  string           // default: a new database
	Clock func() time.Time // default: time.Now
	Fast  bool             // a power failure may lose the last commits
	// Commits is called after every commit; nil: not.
	Commits store.CommitObserver
}

// Open opens a store. The test closes it when it ends. It is a database of SQLite, or of PostgreSQL if
// HOOKBACK_TEST_DB is postgres.
func Open(t testing.TB, o Options) store.Store {
	t.Helper()
	if o.File == "" {
		o.File = NewFile(t)
	}
	s, err := open(t.Context(), o)
	if err != nil {
		t.Fatalf("open a store for tests: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close a store for tests: %v", err)
		}
	})
	return s
}

func open(ctx context.Context, o Options) (store.Store, error) {
	if postgres.IsDSN(o.File) {
		return postgres.Open(ctx, postgres.Config{DSN: o.File, KeyFile: filepath.Join(DataDir(o.File), "postgres.key"), Clock: o.Clock, Commits: o.Commits})
	}
	cfg := sqlite.Config{Path: o.File, Clock: o.Clock, ReserveFileBytes: -1, Commits: o.Commits}
	if o.Fast {
		cfg.Synchronous = "NORMAL"
	}
	return sqlite.Open(ctx, cfg)
}

// dataDirs are the directories of the hubs' keys, by the addresses of PostgreSQL databases.
var dataDirs sync.Map

// DataDir returns the data directory of the hub with a database of NewFile.
func DataDir(database string) string {
	if dir, ok := dataDirs.Load(database); ok {
		return dir.(string)
	}
	return filepath.Dir(database)
}

// poolSize limits the connections of the many hubs of a test program.
const poolSize = "&pool_max_conns=4"

// OpenSQL opens a database of NewFile next to the hub that uses it.
func OpenSQL(t testing.TB, database string) *sql.DB {
	t.Helper()
	driver := "sqlite"
	if postgres.IsDSN(database) {
		driver, database = "pgx", strings.TrimSuffix(database, poolSize)
	}
	db, err := sql.Open(driver, database)
	if err != nil {
		t.Fatalf("open a database for tests: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close a database for tests: %v", err)
		}
	})
	return db
}

// IsPostgres reports whether tests use PostgreSQL.
func IsPostgres() bool { return os.Getenv("HOOKBACK_TEST_DB") == "postgres" }

func newPostgres(t testing.TB) string {
	t.Helper()
	dsn := pgtest.New(t, postgres.Template) + poolSize
	dataDirs.Store(dsn, t.TempDir())
	return dsn
}

// templateBytes is an empty database with the schema.
var templateBytes = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "hookback-template")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "template.db")
	if err := sqlite.Template(context.Background(), file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// NewFile returns the path of a new database file with the current schema, in which a hub
// that opens it is new, or the address of such a database. The test removes it when it ends.
func NewFile(t testing.TB) string {
	t.Helper()
	if IsPostgres() {
		return newPostgres(t)
	}
	return NewSQLiteFile(t)
}

// NewSQLiteFile is NewFile for a test about the files of SQLite.
func NewSQLiteFile(t testing.TB) string {
	t.Helper()
	schema, err := templateBytes()
	if err != nil {
		t.Fatalf("make a database for tests: %v", err)
	}
	file := filepath.Join(t.TempDir(), "hub.db")
	if err := os.WriteFile(file, schema, 0o600); err != nil {
		t.Fatalf("make a database for tests: %v", err)
	}
	return file
}
