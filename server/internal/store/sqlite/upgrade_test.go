package sqlite

import (
	"database/sql"
	"io/fs"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// newDatabaseOf creates a database with an older schema and executes the statements.
func newDatabaseOf(t *testing.T, version int64, statements ...string) (file string) {
	t.Helper()
	file = t.TempDir() + "/hub.db"
	require.NoError(t, ensurePrivateFile(file)) // the hub creates it, too: SQLite does not
	db, err := sql.Open("sqlite", dsn(file, "FULL", false))
	require.NoError(t, err)
	files, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), version)
	require.NoError(t, err)
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, db.Close())
	return file
}

// Questions, their changes, deliveries and audit log survive the rebuild of their tables.
func TestMigrate_KeepsQuestions(t *testing.T) {
	t.Parallel()
	const hour = int64(time.Hour / time.Millisecond)
	file := newDatabaseOf(t, 19,
		`INSERT INTO names (stream_id, kind, id, name) VALUES (1, 1, 1, 'app'), (1, 2, 2, 's'), (1, 3, 3, 'Stop')`,
		`INSERT INTO events (stream_id, seq, uid, received_at, timestamp, app, session, type, tool, asks, envelope, payload)
			VALUES (1, 1, zeroblob(16), 5, 5, 1, 2, 3, 0, 1, x'', x'7b7d'), (1, 2, zeroblob(16), 5, 5, 1, 2, 3, 0, 1, x'', x'7b7d'),
			(1, 3, zeroblob(16), 5, 5, 1, 2, 3, 0, 1, x'', x'7b7d'), (1, 5, zeroblob(16), 5, 5, 1, 2, 3, 0, 1, x'', x'7b7d')`,
		`INSERT INTO questions (stream_id, seq, app, session, type, tool, question, asked, status, state, inbox, version, changed_at, deadline, url, listener_key, protocol, text)
			SELECT 1, seq, 1, 2, 3, 0, X'7b7d', X'7b7d', CAST('{"waiter":"listening"}' AS BLOB), 'pending', 'pending', 1, 5, 3600000, 'ws://a', '', 2, 'q' FROM events`,
		`INSERT INTO awaiting (stream_id, person, seq, app) VALUES (1, '', 1, 1), (1, 'ada', 2, 1)`,
		`UPDATE questions SET state = 'responded', inbox = 'decided' WHERE seq = 3`,
		`UPDATE questions SET state = 'error', inbox = 'cancelled' WHERE seq = 5`,
		`INSERT INTO changes (stream_id, seq, question, ends, status) VALUES (1, 4, 3, 1, CAST('{"outcome":"a"}' AS BLOB)), (1, 6, 5, 1, X'7b7d'), (1, 7, 5, 0, X'7b7d')`,
		`INSERT INTO deliveries (stream_id, seq, answer_id, state, attempts, sent, due, until, leased, wake, open, undelivered)
			VALUES (1, 3, 'id', 'queued', 2, 1, 7, 8, 9, 9, 1, 1)`,
		`INSERT INTO ledger (stream_id, n, question, hash, entry) VALUES (1, 1, 0, 'h1', X'6531'), (1, 2, 3, 'h2', X'6532')`,
		`UPDATE streams SET head = 7, events = 4, received = 5, name = 3`,
	)
	b, ctx := newTestStore(t, func(c *Config) { c.Path = file }), t.Context()
	due, next, err := b.DueQuestions(ctx, time.UnixMilli(hour), 9)
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 2}, due)
	require.Zero(t, next)
	inbox, _, err := b.Inbox(ctx, store.InboxFilter{Everyone: true, Limit: 9})
	require.NoError(t, err)
	require.Len(t, inbox, 1)
	require.EqualValues(t, 1, inbox[0].ID)
	inbox, _, err = b.Inbox(ctx, store.InboxFilter{Awaiting: "ada", Limit: 9})
	require.NoError(t, err)
	require.Len(t, inbox, 2)
	for status, id := range map[string]schema.EventID{"responded": 3, "error": 5, store.Undelivered: 3} {
		found, err := b.Find(ctx, store.Filter{Status: status})
		require.NoError(t, err)
		require.Len(t, found, 1, status)
		require.Equal(t, id, found[0].ID)
	}
	rows, err := b.After(ctx, 3, 9)
	require.NoError(t, err)
	require.Len(t, rows, 4)
	require.True(t, rows[0].Ends)
	require.JSONEq(t, `{"outcome":"a"}`, string(rows[0].Event.Status))
	q, err := b.Question(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, "id", q.Delivery.AnswerID)
	require.True(t, q.Delivery.Sent)
	require.Equal(t, 2, q.Delivery.Attempts)
	for question, want := range map[schema.EventID]int{0: 2, 3: 1} {
		entries, err := b.Ledger(ctx, store.LedgerPage{QuestionID: question, Limit: 9})
		require.NoError(t, err)
		require.Len(t, entries, want)
		require.Equal(t, "e2", string(entries[want-1]))
	}
	counts, err := b.InboxCounts(ctx, "ada")
	require.NoError(t, err)
	require.EqualValues(t, 2, counts.PendingCount)
	require.EqualValues(t, 2, counts.ResolversCount)
	require.EqualValues(t, 2, counts.WaitingOnMe)
	require.Equal(t, []string{"app"}, counts.Agents)
	done, err := b.Prune(ctx, store.RetentionPolicy{QuestionsBefore: b.Clock.Now()})
	require.NoError(t, err)
	require.Equal(t, store.PruneResult{Questions: 1, Changes: 2}, done, "the answer to 3 is not delivered")
}

// The uses of tools survive the change to one row per period.
func TestMigrate_KeepsToolTimes(t *testing.T) {
	t.Parallel()
	file := newDatabaseOf(t, 22,
		`INSERT INTO tool_times (stream_id, span, at, tool, bin, calls, failures, total) VALUES (1, 1, 100, 'Bash', 7, 1, 0, 70),
			(1, 96, 1, 'Bash', 7, 1, 0, 70), (1, 96, 2, 'Bash', -1, 5, 2, 0), (1, 96, 2, 'Bash', 12, 3, 1, 4000), (1, 96, 2, 'Read', 0, 9, 0, 1)`,
	)
	b, ctx := newTestStore(t, func(c *Config) { c.Path = file }), t.Context()
	bash := func(bucket int64) store.ToolKey { return store.ToolKey{Tool: "Bash", Bucket: bucket} }
	want := map[store.ToolKey]store.ToolTime{
		bash(-1): {Calls: 5, Failures: 2}, bash(7): {Calls: 1, TotalMS: 70}, bash(12): {Calls: 3, Failures: 1, TotalMS: 4000}, {Tool: "Read"}: {Calls: 9, TotalMS: 1},
	}
	for _, from := range []int64{96, 97} { // a whole day, and its quarter-hours
		times, err := b.ToolTimes(ctx, from)
		require.NoError(t, err)
		require.Equal(t, want, times)
	}
	b.MustProject(t, &store.ProjectionBatch{To: 1, ToolTimes: map[store.ToolKey]store.ToolTime{{Session: 1, Quarter: 200, Tool: "Bash", Bucket: 12}: {Calls: 1, TotalMS: 1000}}})
	times, err := b.ToolTimes(ctx, 96)
	require.NoError(t, err)
	require.Equal(t, store.ToolTime{Calls: 4, Failures: 1, TotalMS: 5000}, times[bash(12)])
}
