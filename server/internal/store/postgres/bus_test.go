package postgres

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/bus"
	"github.com/hookback/hookback/server/internal/pgtest"
)

// execIn executes statements in a database of the DSN's server.
func execIn(t testing.TB, dsn, database string, statements ...string) {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.Path = "/" + database
	conn, err := pgx.Connect(context.Background(), u.String())
	require.NoError(t, err)
	for _, s := range statements {
		_, err := conn.Exec(context.Background(), s)
		require.NoError(t, err, s)
	}
	require.NoError(t, conn.Close(context.Background()))
}

func databaseOf(t testing.TB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	return strings.TrimPrefix(u.Path, "/")
}

func busConfig(t testing.TB, dsn string) *pgx.ConnConfig {
	t.Helper()
	pool, err := poolConfig(dsn)
	require.NoError(t, err)
	return writerConfig(pool.ConnConfig)
}

func joinBus(t testing.TB, dsn string) bus.Bus {
	t.Helper()
	return newBus(busConfig(t, dsn), slog.New(slog.DiscardHandler))
}

// Schemas of one database are different hubs. Anyone who may connect can forge a notification.
func TestNewBus_SeparatesSchemas(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t, Template)
	long := strings.Repeat("x", 63)
	execIn(t, dsn, databaseOf(t, dsn), `CREATE SCHEMA `+long)
	a, b, other := joinBus(t, dsn), joinBus(t, dsn), joinBus(t, dsn+"&search_path="+long)
	for _, hub := range []bus.Bus{a, b, other} {
		defer func() { require.NoError(t, hub.Close()) }()
		require.Eventually(t, hub.Up, time.Minute, time.Millisecond)
	}
	execIn(t, dsn, databaseOf(t, dsn), `SELECT pg_notify('hookback_' || md5('public'), m) FROM unnest(ARRAY['', 'x', '0', '-1', '1 2', repeat('9', 1000)]) m`)
	a.Ring(0)
	a.Ring(-5)
	a.Ring(4)
	require.Eventually(t, func() bool { return a.Stats().Sent > 0 }, time.Minute, time.Millisecond)
	require.EqualValues(t, 1, a.Stats().Sent, "commits below 1 are ignored")
	ringUntil(t, a, b, 5)
	require.Zero(t, other.Stats().Received)
	require.Zero(t, a.Stats().Received, "a hub does not hear itself")
}

func TestNewBus_NeverLogsPassword(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var log strings.Builder
	text := func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
	b := newBus(busConfig(t, "postgres://ada:secret@127.0.0.1:1/hub"), slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil)))
	require.Eventually(t, func() bool { return strings.Contains(text(), "bus disconnected") }, time.Minute, time.Millisecond)
	require.False(t, b.Up())
	require.NoError(t, b.Close())
	_, err := poolConfig("postgres://ada:secret@127.0.0.1:port/hub")
	require.Error(t, err)
	require.NotContains(t, text()+err.Error(), "secret")
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
