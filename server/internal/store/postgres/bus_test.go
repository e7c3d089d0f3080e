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
	"github.com/hookback/hookback/server/internal/bus/bustest"
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

func joinBus(t testing.TB, dsn string) bus.Bus {
	t.Helper()
	b, err := NewBus(dsn, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return b
}

func TestNewBus_Contract(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t testing.TB) bustest.Network {
		dsn := pgtest.New(t, Template)
		name := databaseOf(t, dsn)
		return bustest.Network{
			Join: func(t testing.TB) bus.Bus { return joinBus(t, dsn) },
			Stop: func(t testing.TB) {
				execIn(t, dsn, "postgres", `ALTER DATABASE `+name+` ALLOW_CONNECTIONS false`,
					`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '`+name+`'`)
			},
			Start: func(t testing.TB) { execIn(t, dsn, "postgres", `ALTER DATABASE `+name+` ALLOW_CONNECTIONS true`) },
		}
	})
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
	execIn(t, dsn, databaseOf(t, dsn), `SELECT pg_notify('hookback_' || md5('public'), m) FROM unnest(ARRAY['', 'x', '-1', '1 2', repeat('9', 1000)]) m`)
	bustest.RingUntil(t, a, b, 5)
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
	b, err := NewBus("postgres://ada:secret@127.0.0.1:1/hub", slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(text(), "bus disconnected") }, time.Minute, time.Millisecond)
	require.False(t, b.Up())
	require.NoError(t, b.Close())
	_, err = NewBus("postgres://ada:secret@127.0.0.1:port/hub", slog.New(slog.DiscardHandler))
	require.Error(t, err)
	require.NotContains(t, text()+err.Error(), "secret")
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
