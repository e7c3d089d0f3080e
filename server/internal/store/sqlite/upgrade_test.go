package sqlite

import (
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// The last steps of the chain before tables.Schema, which the database at commit ff4c8f2b lacks.
const (
	oldStep60 = `CREATE TABLE coverage (stream_id INTEGER NOT NULL, host TEXT NOT NULL, account TEXT NOT NULL, agent TEXT NOT NULL,
		report BLOB NOT NULL, reported_at INTEGER NOT NULL, proof BLOB NOT NULL, proven_at INTEGER NOT NULL,
		PRIMARY KEY (stream_id, host, account, agent)) STRICT, WITHOUT ROWID;
	INSERT INTO coverage VALUES (1, 'laptop', 'ada', 'claude-code', CAST('{}' AS BLOB), 5, X'', 0);
	INSERT INTO goose_db_version (version_id, is_applied) VALUES (60, 1);`
	oldStep61 = `ALTER TABLE coverage ADD COLUMN requester TEXT NOT NULL DEFAULT 'token';
		INSERT INTO goose_db_version (version_id, is_applied) VALUES (61, 1);`
)

// newOldDatabase creates a database as the hub of commit ff4c8f2b left it, and executes the statements.
func newOldDatabase(t *testing.T, statements string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "hub.db")
	dump, err := os.ReadFile("testdata/hub_ff4c8f2b.sql")
	require.NoError(t, err)
	key, err := os.ReadFile("testdata/hub_ff4c8f2b.key")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(identity.File(file), key, 0o600))
	require.NoError(t, ensurePrivateFile(file)) // SQLite does not create it: see dsn
	db := openSQL(t, file)
	_, err = db.ExecContext(t.Context(), string(dump)+`INSERT INTO search_grams (place, grams) VALUES ((1 << 48) + (2 << 6) + 3, X'01');
		UPDATE rules SET rule = CAST(json_set(CAST(rule AS TEXT), '$.scope', 'session') AS BLOB) WHERE id = 2;`+statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return file
}

func openSQL(t *testing.T, file string) *sql.DB {
	t.Helper()
	require.NoError(t, ensurePrivateFile(file))
	db, err := sql.Open("sqlite", dsn(file, "FULL", false))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// columnsOf returns the names of the columns of each table.
func columnsOf(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	columns := map[string][]string{}
	rows, err := db.QueryContext(t.Context(), `SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'`)
	require.NoError(t, eachRow(rows, err, func(rows tables.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		columns[table] = append(columns[table], column)
		return err
	}))
	return columns
}

// contents returns the rows of a query, sorted.
func contents(t *testing.T, db *sql.DB, query string, columns int) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	var lines []string
	require.NoError(t, eachRow(rows, err, func(rows tables.Rows) error {
		values, into := make([]any, columns), make([]any, columns)
		for i := range values {
			into[i] = &values[i]
		}
		err := rows.Scan(into...)
		lines = append(lines, fmt.Sprintf("%v", values))
		return err
	}))
	slices.Sort(lines)
	return lines
}

func TestUpgrade_KeepsEveryRow(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string]string{"59": "", "60": oldStep60, "61": oldStep60 + oldStep61} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, file := openSQL(t, newOldDatabase(t, statements)), newOldDatabase(t, statements)
			after := openSQL(t, file)
			version, err := migration().Run(t.Context(), after, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			require.GreaterOrEqual(t, version, int64(schemaStep))
			fresh := filepath.Join(t.TempDir(), "fresh.db")
			require.NoError(t, Template(t.Context(), fresh))
			upgraded := columnsOf(t, after)
			require.Equal(t, columnsOf(t, openSQL(t, fresh)), upgraded)
			versionQuery := `SELECT max(version_id) FROM goose_db_version`
			require.Equal(t, contents(t, openSQL(t, fresh), versionQuery, 1), contents(t, after, versionQuery, 1))
			for table, columns := range columnsOf(t, before) {
				if strings.HasPrefix(table, "goose") || strings.HasPrefix(table, "sqlite") || movedTables[table] != "" || table == "search_grams" ||
					table == "awaiting" { // the statuses have its rows
					continue
				}
				columns = slices.DeleteFunc(columns, func(c string) bool { return c == "stream_id" || table == "hub" && c == "key" })
				query := `SELECT ` + strings.Join(columns, ", ") + ` FROM ` + table
				if table == "machine_decisions" { // whose counts by application and agent became one
					columns = slices.DeleteFunc(columns, func(c string) bool { return c == "app" || c == "agent" })
					query = `SELECT quarter, decided, risk, outcome, sum(calls), sum(appealed) FROM machine_decisions GROUP BY 1, 2, 3, 4`
				}
				require.Subset(t, upgraded[table], columns, table)
				require.Equal(t, contents(t, before, query, len(columns)), contents(t, after, query, len(columns)), table)
			}
			require.Equal(t, []string{"[projections 40]", "[ratings 40]"}, contents(t, after, `SELECT name, cursor FROM cursors`, 2))
			require.Equal(t, []string{"[131]"}, contents(t, after, `SELECT place FROM search_grams`, 1))
			require.Equal(t, []string{"[1 ada ]", "[2 ada session]"}, contents(t, after, `SELECT id, created_by, scope FROM rules`, 3))
			require.Equal(t, []string{"[ok]"}, contents(t, after, `PRAGMA integrity_check`, 1))
		})
	}
}

// A hub reads everything in an upgraded database, and the signatures hold.
func TestUpgrade_HubReadsOldDatabase(t *testing.T) {
	t.Parallel()
	file := newOldDatabase(t, "")
	b, ctx := newTestStore(t, func(c *Config) { c.Path = file }), t.Context()
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
	found, _ := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "pomegranate")})
	require.Len(t, found, 3)
	asked := b.MustAppend(t, conformance.NewQuestionDraft("s", conformance.ClockStart))
	require.EqualValues(t, 45, asked.ID)
	require.NoError(t, b.Close())
	state, err := CheckLedger(ctx, file)
	require.NoError(t, err)
	require.EqualValues(t, 14, state.Entries)
}

// An upgrade that fails changes nothing.
func TestUpgrade_IsAllOrNothing(t *testing.T) {
	t.Parallel()
	file := newOldDatabase(t, `UPDATE hub SET key = X'01'`)
	before := openSQL(t, file)
	tables := columnsOf(t, before)
	_, err := migration().Run(t.Context(), before, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "start and stop the build that wrote it")
	require.Equal(t, tables, columnsOf(t, before))
	require.Equal(t, []string{"[59]"}, contents(t, before, `SELECT max(version_id) FROM goose_db_version`, 1))
}

// A build of the main branch had these tables under the number of the chain's last step.
func TestUpgrade_KeepsTablesWithoutStream(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.db")
	db, steps := openSQL(t, file), migration()
	steps.Files = fstest.MapFS{} // no later steps
	_, err := steps.Run(t.Context(), db, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `UPDATE goose_db_version SET version_id = 61 WHERE version_id = 62; INSERT INTO hub_settings VALUES ('kept', X'7B7D')`)
	require.NoError(t, err)
	version, err := migration().Run(t.Context(), db, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.GreaterOrEqual(t, version, int64(schemaStep))
	require.Equal(t, []string{"[kept]"}, contents(t, db, `SELECT name FROM hub_settings`, 1))
}

// A build from between two versions may have applied a later step without an earlier one.
func TestMigrate_RefusesGap(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"0063_next.sql": {Data: []byte("-- +goose Up\nCREATE TABLE later (n INTEGER) STRICT;")}}
	db, steps := openSQL(t, filepath.Join(t.TempDir(), "hub.db")), migration()
	steps.Files = files
	version, err := steps.Run(t.Context(), db, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.EqualValues(t, 63, version)
	maps.Copy(files, fstest.MapFS{"0064_next.sql": files["0063_next.sql"]})
	_, err = db.ExecContext(t.Context(), `UPDATE goose_db_version SET version_id = 64 WHERE version_id = 63`)
	require.NoError(t, err)
	_, err = steps.Run(t.Context(), db, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "a build between two versions of Hookback (schema 64 without step 63); nothing was changed; start the build that wrote it")
}
