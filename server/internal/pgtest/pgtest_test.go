package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/pgtest"
)

func TestNew_CopiesTemplate(t *testing.T) {
	t.Parallel()
	migrate := func(ctx context.Context, dsn string) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, `CREATE TABLE t (n int)`)
		require.NoError(t, conn.Close(ctx))
		return err
	}
	for range 2 {
		conn, err := pgx.Connect(t.Context(), pgtest.New(t, migrate))
		require.NoError(t, err)
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO t SELECT count(*) FROM t RETURNING n`).Scan(&n))
		require.Zero(t, n, "a database of its own")
		var fsync string
		require.NoError(t, conn.QueryRow(t.Context(), `SHOW fsync`).Scan(&fsync))
		require.Equal(t, "on", fsync)
		require.NoError(t, conn.Close(context.Background()))
	}
}
