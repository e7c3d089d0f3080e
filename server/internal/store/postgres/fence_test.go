package postgres

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// uncancelledConn loses the requests to cancel a statement.
type uncancelledConn struct{ net.Conn }

func (c uncancelledConn) Write(p []byte) (int, error) {
	if len(p) == 16 && binary.BigEndian.Uint32(p[4:]) == 80877102 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

// A server process whose client is gone may still wait for the counter row, and commit later.
func TestWriter_WaitsForCommitOfLostConnection(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return uncancelledConn{conn}, err
	}
	b := newTestStore(t, cfg)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")) // prepares the statements
	other, err := pgx.ConnectConfig(t.Context(), b.writer.config)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close(context.WithoutCancel(t.Context()))) }()
	_, err = other.Exec(t.Context(), `BEGIN`)
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), `SELECT FROM streams FOR UPDATE`)
	require.NoError(t, err)
	waits := func(n int) func() bool {
		return func() bool {
			var found int
			err := b.readers.get(t.Context(), []any{&found}, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%streams%'`)
			return err == nil && found == n
		}
	}
	stored := make(chan error, 1)
	go func() {
		_, err := b.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
		stored <- err
	}()
	require.Eventually(t, waits(1), time.Minute, time.Millisecond)
	require.NoError(t, b.writer.conn.PgConn().Conn().Close())
	require.Eventually(t, func() bool { return waits(2)() || len(stored) > 0 }, time.Minute, time.Millisecond)
	require.Empty(t, stored, "the outcome is not known yet")
	_, err = other.Exec(t.Context(), `ROLLBACK`)
	require.NoError(t, err)
	require.NoError(t, <-stored)
	require.EqualValues(t, 3, b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", "")).ID)
	require.Len(t, b.Published(), 3)
	conformance.RequireDense(t, b.Store)
}
