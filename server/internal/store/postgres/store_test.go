package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/pgtest"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// testConfig names a new database that has the current schema.
func testConfig(t testing.TB) Config {
	t.Helper()
	return Config{DSN: pgtest.New(t, Template) + "&pool_max_conns=4", KeyFile: filepath.Join(t.TempDir(), "hub.key")}
}

// testStore is a store with its fake clock and the rows that it published.
type testStore struct {
	*engine
	harness
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

func newTestStore(t testing.TB, cfg Config) *testStore {
	t.Helper()
	b := &testStore{}
	b.harness.Harness = conformance.NewHarness(t, func(clock func() time.Time) (_ store.Store, err error) {
		cfg.Clock = clock
		b.engine, err = openEngine(t.Context(), cfg)
		return b.engine, err
	})
	return b
}

func TestOpen_RefusesAnotherKey(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	require.NoError(t, newTestStore(t, cfg).engine.Close())
	cfg.KeyFile = filepath.Join(t.TempDir(), "other.key")
	_, err := Open(t.Context(), cfg)
	require.ErrorIs(t, err, identity.ErrMissing)
}

// Names come from agents. PostgreSQL's text holds no NUL.
func TestAppend_StoresAnyName(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	d := conformance.NewDraft("a\x00pp", "s\xff", "Stop", "tool")
	q := conformance.NewQuestionDraft("s\x00", time.Time{})
	q.NewQuestion.Text, q.App = "May\x00 I?", "a\x00pp"
	for i, r := range b.AppendAll(t.Context(), []*store.EventDraft{d, q, conformance.NewDraft("app", "s", "Stop", "")}) {
		require.NoError(t, r.Err)
		require.EqualValues(t, i+1, r.Receipt.Event.ID)
	}
	found, err := b.Find(t.Context(), store.Filter{App: "a\x00pp"})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 2}, conformance.EventIDs(found))
	b.Reopen(t)
	pending, err := b.PendingInSession(t.Context(), "a\uFFFDpp", "s\uFFFD")
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{2}, pending)
}

// A failed guard rolls the group back, and only the loser fails.
func TestWriter_RunsGroupAgainAfterFailedGuard(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	id := b.MustAppend(t, conformance.NewQuestionDraft("s", time.Time{})).ID
	stale := conformance.AnswerChange(b.MustQuestion(t, id))
	b.Answer(t, id)
	release := b.Block(t)
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() { failed = b.Apply(t.Context(), stale) })
	for range 20 {
		wg.Go(func() { b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")) })
	}
	require.Eventually(t, func() bool { return b.Queue.Len() == 21 }, time.Minute, time.Millisecond)
	release()
	wg.Wait()
	require.ErrorIs(t, failed, store.ErrConflict)
	require.EqualValues(t, 2+1+20, b.Head(), "a failed write uses no number")
	conformance.RequireDense(t, b.Store)
	require.Len(t, b.Published(), 23)
}

// exec executes one statement in a write.
func (b *testStore) exec(t testing.TB, query string) error {
	return b.Write(t.Context(), tables.Plain, func(w *tables.Work) error { return w.Exec(query) })
}

// terminateWriter makes the server end the connection of the writer.
func terminateWriter(t testing.TB, b *testStore) {
	t.Helper()
	var ended bool
	require.NoError(t, b.readers.get(t.Context(), []any{&ended}, `SELECT pg_terminate_backend($1)`, int64(b.writer.conn.PgConn().PID())))
	require.True(t, ended)
}

func TestWriter_ConnectsAgain(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	first := b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID
	terminateWriter(t, b)
	require.Eventually(t, func() bool {
		_, err := b.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
		if err != nil {
			require.ErrorIs(t, err, schema.ErrStorage)
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	stats, err := b.Stats(t.Context())
	require.NoError(t, err)
	require.Empty(t, stats.Fault)
	require.Greater(t, b.Head(), int64(first))
	conformance.RequireDense(t, b.Store)
	require.Len(t, b.Published(), int(b.Head()))
}

// deafConn loses the server's answers after a signal.
type deafConn struct {
	net.Conn
	isDeaf *atomic.Bool
}

func (c deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.isDeaf.CompareAndSwap(true, false) {
		return 0, errors.Join(net.ErrClosed, c.Close())
	}
	return n, err
}

// The connection ends after the server has committed, before the hub gets the reply.
func TestWriter_FindsOutcomeOfLostCommit(t *testing.T) {
	t.Parallel()
	cfg, isDeaf := testConfig(t), &atomic.Bool{}
	cfg.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return deafConn{conn, isDeaf}, err
	}
	b := newTestStore(t, cfg)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")) // prepares the statements
	isDeaf.Store(true)
	require.EqualValues(t, 2, b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID)
	require.False(t, isDeaf.Load())
	require.EqualValues(t, 3, b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID)
	require.Len(t, b.Published(), 3)
	conformance.RequireDense(t, b.Store)
}

func TestPrune_ToSize(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	b.AppendMany(t, 100, func(int) *store.EventDraft {
		d := conformance.NewDraft("app", "s", "Stop", "")
		d.Payload = fmt.Appendf(nil, `{"a":%q}`, strings.Repeat("x", 1000))
		return d
	})
	done, err := b.Prune(t.Context(), store.RetentionPolicy{MaxBytes: 50_000, Batch: 10})
	require.NoError(t, err)
	const justBelow = 54 // 46 events of 1,068 bytes are left
	require.GreaterOrEqual(t, done.Events, int64(justBelow))
	require.Less(t, done.Events, int64(justBelow+10), "at most one batch more; their size follows the time that they take")
	require.NoError(t, b.Write(t.Context(), tables.Plain, func(w *tables.Work) error {
		size, err := w.Size()
		require.LessOrEqual(t, size, int64(50_000))
		return err
	}))
}

// Retention and new events of the same name may share a commit, and a segment of the log.
func TestPrune_KeepsNamesOfLaterEvents(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, testConfig(t))
	b.MustAppend(t, conformance.NewDraft("rare", "s", "Stop", ""))
	b.Clock.Advance(2 * time.Hour)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	release := b.Block(t)
	var wg sync.WaitGroup
	var done store.PruneResult
	var failed error
	wg.Go(func() {
		done, failed = b.Prune(t.Context(), store.RetentionPolicy{EventsBefore: conformance.ClockStart.Add(time.Hour)})
	})
	require.Eventually(t, func() bool { return b.Queue.Len() == 1 }, time.Minute, time.Millisecond)
	wg.Go(func() { b.MustAppend(t, conformance.NewDraft("rare", "s", "Stop", "")) })
	require.Eventually(t, func() bool { return b.Queue.Len() == 2 }, time.Minute, time.Millisecond)
	release()
	wg.Wait()
	require.NoError(t, failed)
	require.EqualValues(t, 1, done.Events)
	found, err := b.Find(t.Context(), store.Filter{App: "rare"})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{4}, conformance.EventIDs(found))
}

// The server may be away for longer than a transaction that was open when it went.
func TestWriter_LosesServerInOpenTransaction(t *testing.T) {
	t.Parallel()
	cfg, isAway := testConfig(t), &atomic.Bool{}
	cfg.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if isAway.Load() {
			return nil, errors.New("away")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	b := newTestStore(t, cfg)
	require.Error(t, b.Write(t.Context(), tables.Plain, func(w *tables.Work) error {
		if _, err := w.ExecCount(`SELECT 1`); err != nil { // begins the transaction
			return err
		}
		isAway.Store(true)
		terminateWriter(t, b)
		return w.Exec(`SELECT 1`)
	}))
	_, err := b.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, err, schema.ErrStorage)
	isAway.Store(false)
	require.EqualValues(t, 1, b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID)
}
