// Package storetest creates databases for tests. Every test has its own file. The schema is
// migrated once per test program, because under the race detector that takes longer than
// most tests.
package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hookback/hookback/server/internal/store/sqlite"
)

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

// NewFile returns the path of a new database file with the current schema, in which
// sqlite.Open initializes a new hub. The test removes it when it ends.
func NewFile(t testing.TB) string {
	t.Helper()
	schema, err := templateBytes()
	if err != nil {
		t.Fatalf("making a database for tests: %v", err)
	}
	file := filepath.Join(t.TempDir(), "hub.db")
	if err := os.WriteFile(file, schema, 0o600); err != nil {
		t.Fatalf("making a database for tests: %v", err)
	}
	return file
}
