// Package storetest opens stores for tests. Every test has its own database. Its schema is
// migrated once per test program, because under the race detector that takes longer than
// most tests. Package conformance below holds the tests that every engine passes.
package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hookback/hookback/server/internal/store"
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

// Open opens a store. The test closes it when it ends.
func Open(t testing.TB, o Options) store.Store {
	t.Helper()
	cfg := sqlite.Config{Path: o.File, Clock: o.Clock, ReserveFileBytes: -1, Commits: o.Commits}
	if cfg.Path == "" {
		cfg.Path = NewFile(t)
	}
	if o.Fast {
		cfg.Synchronous = "NORMAL"
	}
	s, err := sqlite.Open(t.Context(), cfg)
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
// that opens it is new. The test removes it when it ends.
func NewFile(t testing.TB) string {
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
