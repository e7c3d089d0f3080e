package postgres

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// oldConfig names a database as the hub of commit ff4c8f2b left it.
func oldConfig(t *testing.T) Config {
	t.Helper()
	cfg := testConfig(t)
	dump, err := os.ReadFile("testdata/hub_ff4c8f2b.sql")
	require.NoError(t, err)
	key, err := os.ReadFile("testdata/hub_ff4c8f2b.key")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cfg.KeyFile, key, 0o600))
	execSQL(t, cfg, `DROP SCHEMA public CASCADE; CREATE SCHEMA public; `+string(dump))
	return cfg
}

func execSQL(t *testing.T, cfg Config, statements string) {
	t.Helper()
	pool, err := poolConfig(cfg.DSN)
	require.NoError(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), pool.ConnConfig)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statements)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

// definitions returns the columns and indexes of the store's database.
func definitions(t *testing.T, b *testStore) []string {
	t.Helper()
	rows, _ := b.readers.query(t.Context(), `SELECT concat_ws(' ', table_name, column_name, data_type, collation_name, is_nullable, column_default)
			FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

// A hub reads everything in an upgraded database.
func TestUpgrade_HubReadsOldDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fresh := newTestStore(t, testConfig(t))
	b := newTestStore(t, oldConfig(t))
	require.Equal(t, definitions(t, fresh), definitions(t, b))
	require.Equal(t, fresh.Schema(), b.Schema())
	events, err := b.Find(ctx, store.Filter{Limit: 100})
	require.NoError(t, err)
	require.Len(t, events, 32)
	require.EqualValues(t, 44, b.Head())
	q, err := b.Question(ctx, 28)
	require.NoError(t, err)
	require.Contains(t, string(q.Event.Status), `"outcome":"approve`)
	inbox, _, err := b.Inbox(ctx, store.InboxFilter{Awaiting: "bob", Limit: 9})
	require.NoError(t, err)
	require.Len(t, inbox, 1)
	require.EqualValues(t, 31, inbox[0].ID)
	sessions, _, err := b.Sessions(ctx, store.SessionFilter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, sessions, 4)
	rules, err := b.Store.Rules(ctx, 9)
	require.NoError(t, err)
	require.Len(t, rules, 2)
	people, err := b.Store.People(ctx)
	require.NoError(t, err)
	require.Len(t, people.Persons, 2)
	channels, err := b.Store.Channels(ctx)
	require.NoError(t, err)
	require.Equal(t, "https://ntfy.example/hub-topic", channels[0].URL)
	entries, err := b.Store.Ledger(ctx, store.LedgerPage{Limit: 99})
	require.NoError(t, err)
	require.Len(t, entries, 14)
	found, _ := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "pomegranate")})
	require.Len(t, found, 3)
	require.EqualValues(t, 45, b.MustAppend(t, conformance.NewQuestionDraft("s", conformance.ClockStart)).ID)
}

// A schema from before the last one of the old chain can't be read any more.
func TestOpen_RefusesTooOldSchema(t *testing.T) {
	t.Parallel()
	cfg := oldConfig(t)
	execSQL(t, cfg, `DELETE FROM goose_db_version WHERE version_id = 7`)
	_, err := Open(t.Context(), cfg)
	require.ErrorContains(t, err, "nothing was changed; start and stop the build of commit ff4c8f2b on it, then this one")
}
