package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

func TestMain(m *testing.M) {
	if runCrashChild() { // this process is the child of a crash test
		return
	}
	goleak.VerifyTestMain(m)
}

// TestConformance runs the suite that every engine passes.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Engine{
		NewDatabase: func(t testing.TB) conformance.Database {
			cfg := testConfig(t)
			return func(clock func() time.Time) (store.Store, error) {
				cfg.Clock = clock
				return Open(t.Context(), cfg)
			}
		},
		BuildIndex: func(t testing.TB, s store.Store) { buildIndex(t, s.(*engine)) },
	})
}

// migrated is the bytes of a new database. The migrations take longer than most tests.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "hookback-template")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "template.db")
	if err := Template(context.Background(), file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// testConfig names a new database file that has the current schema.
func testConfig(t testing.TB) Config {
	t.Helper()
	schema, err := migrated()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "hub.db")
	require.NoError(t, os.WriteFile(file, schema, 0o600))
	return Config{
		Path: file, ReserveFileBytes: -1,
		Disk: diskFunc(func(string) (Disk, error) { return Disk{Free: 1 << 40, Total: 2 << 40}, nil }),
	}
}

// testStore is a store of this engine with its fake clock and the rows that it published.
type testStore struct {
	*engine
	harness
	cfg Config
}

// harness is embedded one level below, so that the methods of the engine hide those of its Store.
type harness struct{ *conformance.Harness }

func openEngine(ctx context.Context, cfg Config) (*engine, error) {
	s, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return s.(*engine), nil
}

func newTestStore(t testing.TB, change ...func(*Config)) *testStore {
	t.Helper()
	b := &testStore{cfg: testConfig(t)}
	for _, c := range change {
		c(&b.cfg)
	}
	b.harness.Harness = conformance.NewHarness(t, b.openDatabase)
	b.cfg.Clock = b.Clock.Now
	return b
}

func (b *testStore) openDatabase(clock func() time.Time) (_ store.Store, err error) {
	cfg := b.cfg
	cfg.Clock = clock
	b.engine, err = openEngine(context.Background(), cfg)
	return b.engine, err
}

func (b *testStore) readRow(ctx context.Context, into []any, query string) error {
	_, err := b.ReadOne(ctx, into, query)
	return err
}

// newBlockedStore returns a store whose writer blocks in its first publication.
func newBlockedStore(t *testing.T) (b *testStore, release func()) {
	t.Helper()
	b = newTestStore(t)
	return b, b.Block(t)
}
