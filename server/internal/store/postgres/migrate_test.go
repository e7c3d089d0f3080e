package postgres

import (
	"context"
	"io/fs"
	"log/slog"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// withNextMigration returns the migrations of a later release: the current ones and another.
func withNextMigration(t *testing.T, statements string) fs.FS {
	t.Helper()
	files := fstest.MapFS{"9999_next.sql": {Data: []byte("-- +goose Up\n" + statements)}}
	entries, err := migrations.ReadDir("migrations")
	require.NoError(t, err)
	for _, e := range entries {
		text, err := migrations.ReadFile("migrations/" + e.Name())
		require.NoError(t, err)
		files[e.Name()] = &fstest.MapFile{Data: text}
	}
	return files
}

func upgrade(t *testing.T, cfg Config, files fs.FS) {
	t.Helper()
	pool, err := poolConfig(cfg.DSN)
	require.NoError(t, err)
	version, err := migrate(context.Background(), pool.ConnConfig, files, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.EqualValues(t, 9999, version)
}

// Two adjacent releases run side by side: the newer one only adds.
func TestMigrate_OlderHubWorksWithNewerSchema(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	running := newTestStore(t, cfg)
	upgrade(t, cfg, withNextMigration(t, `ALTER TABLE events ADD COLUMN later text; CREATE TABLE later (n bigint);`))
	require.NoError(t, requireCompatible(t.Context(), running.readers.pool))
	running.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	running.Reopen(t)
	running.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	require.EqualValues(t, 9999, running.engine.Schema())
}

func TestMigrate_OlderHubEndsWhenSchemaNeedsNewer(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	running := newTestStore(t, cfg)
	upgrade(t, cfg, withNextMigration(t, `UPDATE streams SET min_schema = 9999;`))
	require.ErrorIs(t, requireCompatible(t.Context(), running.readers.pool), errIncompatible, "the running hub finds out")
	require.ErrorContains(t, running.Wait(t.Context()), "needs a newer Hookback")
	require.NoError(t, running.engine.Close())
	_, err := Open(t.Context(), cfg)
	require.ErrorIs(t, err, errIncompatible)
	require.ErrorContains(t, err, "nothing was changed; upgrade this hub")
}

// A schema without a step before its version has unknown tables.
func TestMigrate_RefusesGap(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	running := newTestStore(t, cfg)
	upgrade(t, cfg, withNextMigration(t, `SELECT 1;`))
	_, err := running.readers.pool.Exec(t.Context(), `DELETE FROM goose_db_version WHERE version_id = $1`, newestSchema())
	require.NoError(t, err)
	require.NoError(t, running.engine.Close())
	_, err = Open(t.Context(), cfg)
	require.ErrorContains(t, err, "by a build between two versions of Hookback")
}
