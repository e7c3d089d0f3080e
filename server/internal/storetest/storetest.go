// Package storetest makes databases for tests. Every test has a file of its own; the
// schema is made once for all tests of a program, since under the race detector that
// takes longer than most tests.
package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hookback/hookback/server/internal/store"
)

// templateBytes is an empty database with the schema.
var templateBytes = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "hookback-blank")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "blank.db")
	if err := store.Template(context.Background(), file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// NewFile is the path of a database that store.Open makes a new hub of. It is gone with
// the test.
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
