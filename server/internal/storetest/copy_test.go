package storetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/pgtest"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/postgres"
	"github.com/hookback/hookback/server/internal/store/sqlite"
	"github.com/hookback/hookback/server/internal/storetest"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

const poolSize = "&pool_max_conns=4"

// move is a hub's database file and the database that it is copied to.
type move struct {
	file string
	cfg  postgres.CopyConfig
}

func newMove(t testing.TB) move {
	t.Helper()
	return move{file: storetest.NewSQLiteFile(t), cfg: postgres.CopyConfig{
		DSN: pgtest.New(t, postgres.Template) + poolSize, KeyFile: filepath.Join(t.TempDir(), "postgres.key"),
	}}
}

func (m move) openSource(t testing.TB) *conformance.Harness {
	t.Helper()
	return conformance.NewHarness(t, func(clock func() time.Time) (store.Store, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Path: m.file, Clock: clock, ReserveFileBytes: -1})
	})
}

func (m move) openTarget(ctx context.Context, clock func() time.Time) (store.Store, error) {
	return postgres.Open(ctx, postgres.Config{DSN: m.cfg.DSN, KeyFile: m.cfg.KeyFile, Clock: clock})
}

// run copies the database. progress may be nil.
func (m move) run(ctx context.Context, progress func(store.CopyProgress)) (report store.CopyReport, err error) {
	source, err := sqlite.OpenCopySource(ctx, m.file)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if progress == nil {
		progress = func(store.CopyProgress) {}
	}
	return postgres.Copy(ctx, m.cfg, source, progress)
}

func (m move) mustRun(t testing.TB) store.CopyReport {
	t.Helper()
	report, err := m.run(t.Context(), nil)
	require.NoError(t, err)
	return report
}

// count returns a number from the target.
func (m move) count(t testing.TB, query string) (n int64) {
	t.Helper()
	db := storetest.OpenSQL(t, strings.TrimSuffix(m.cfg.DSN, poolSize))
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

func TestCopy_KeepsEverything(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	b := m.openSource(t)
	fill(t, b)
	epoch, position := b.Epoch(), b.Head()
	require.NoError(t, b.Store.Close())

	report := m.mustRun(t)
	require.False(t, report.Repeated)
	require.Zero(t, report.Merged)
	require.Greater(t, report.Rows, position)

	target, err := m.openTarget(t.Context(), b.Clock.Now)
	require.NoError(t, err)
	defer func() { require.NoError(t, target.Close()) }()
	b.Open(t)
	requireSame(t, b.Store, target)
	require.True(t, target.HasPosition(epoch, position), "pages continue where they were")
	require.False(t, target.HasPosition(epoch, position+1))
	requireVerifies(t, target)

	// Both engines continue with the same numbers.
	for _, s := range []store.Store{b.Store, target} {
		r, err := s.Append(t.Context(), conformance.NewDraft("app", "after", "Stop", ""))
		require.NoError(t, err)
		require.EqualValues(t, position+1, r.Event.ID)
		replayed, err := s.Append(t.Context(), func() *store.EventDraft {
			d := conformance.NewDraft("app0", "session20", "PreToolUse", "")
			d.IdempotencyKey = "key100"
			return d
		}())
		require.NoError(t, err)
		require.True(t, replayed.Replayed)
		c := &store.Channel{Name: "new", Kind: "webhook", URL: "https://hooks.example/2", CreatedBy: "ada"}
		require.NoError(t, s.AddChannel(t.Context(), c, 9))
		require.EqualValues(t, 3, c.ID)
		pending, err := s.Pending(t.Context())
		require.NoError(t, err)
		id := pending[1].ID
		require.NoError(t, s.AddNotifications(t.Context(), id, []store.Notification{{Question: id, Channel: 1, Notification: schema.Notification{Kind: "new", State: "queued"}}}, nil))
		list, err := s.NotificationsOf(t.Context(), id)
		require.NoError(t, err)
		require.EqualValues(t, 3, list[0].ID)
	}
	requireVerifies(t, target)
}

// requireVerifies checks the audit log as hookback verify does.
func requireVerifies(t *testing.T, s store.Store) {
	t.Helper()
	entries, err := s.Ledger(t.Context(), store.LedgerPage{Limit: 10_000, Oldest: true})
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	check := sign.LedgerCheck{}
	for _, entry := range entries {
		require.NoError(t, check.Next(entry))
	}
	text, err := s.LedgerHead(t.Context())
	require.NoError(t, err)
	var envelope schema.Envelope
	require.NoError(t, json.Unmarshal(text, &envelope))
	require.NoError(t, envelope.Verify(schema.HeadPayload, s.Identity().Public()))
	var head sign.LedgerHead
	require.NoError(t, json.Unmarshal(envelope.Payload, &head))
	require.Equal(t, s.HubID(), head.Hub)
}

// The suite of the engines passes if every restart moves the hub to PostgreSQL.
func TestCopy_PassesConformanceAfterMove(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Engine{NewDatabase: func(t testing.TB) conformance.Database {
		m, isMoved := move{file: storetest.NewSQLiteFile(t)}, false
		opens := 0
		return func(clock func() time.Time) (store.Store, error) {
			opens++
			if opens == 1 {
				return sqlite.Open(t.Context(), sqlite.Config{Path: m.file, Clock: clock, ReserveFileBytes: -1})
			}
			if !isMoved {
				isMoved = true
				m.cfg = newMove(t).cfg
				if _, err := m.run(t.Context(), nil); err != nil {
					return nil, err
				}
			}
			return m.openTarget(t.Context(), clock)
		}
	}})
}

// Names that differ only in what PostgreSQL's text can't hold become one.
func TestCopy_MergesEqualNames(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	b := m.openSource(t)
	sessions, activity := []store.SessionRow{}, map[store.ActivityKey]store.Activity{}
	tools := map[store.ToolKey]store.ToolTime{}
	for i, name := range []string{"a\x00", "a\uFFFD", "a\xff"} {
		id := b.MustAppend(t, conformance.NewDraft(name, "s", "Stop", name)).ID
		row := conformance.NewSessionRow("s", id, id)
		row.App = name
		sessions = append(sessions, row)
		activity[store.ActivityKey{Quarter: 100, App: name}] = store.Activity{Events: int64(i) + 1, CostUSD: 0.5}
		tools[store.ToolKey{Session: 1, Quarter: 100, Tool: name, Bucket: 2}] = store.ToolTime{Calls: 1, TotalMS: 10}
	}
	b.MustProject(t, &store.ProjectionBatch{Sessions: sessions, Activity: activity, ToolTimes: tools})
	require.NoError(t, b.Store.Close())
	report := m.mustRun(t)
	require.Positive(t, report.Merged)

	target, err := m.openTarget(t.Context(), b.Clock.Now)
	require.NoError(t, err)
	defer func() { require.NoError(t, target.Close()) }()
	options, err := target.FilterOptions(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a\uFFFD"}, options.SourceApps)
	found, err := target.Find(t.Context(), store.Filter{App: "a\x00"})
	require.NoError(t, err)
	require.Equal(t, []schema.EventID{1, 2, 3}, conformance.EventIDs(found))
	sums, err := target.Activity(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, map[string]store.Activity{"a\uFFFD": {Events: 6, CostUSD: 1.5}}, sums)
	uses := store.ToolTime{Calls: 3, TotalMS: 30}
	times, err := target.ToolTimes(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, map[store.ToolKey]store.ToolTime{{Tool: "a\uFFFD", Bucket: 2}: uses}, times)
	ofSession, err := target.SessionTools(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, map[store.ToolKey]store.ToolTime{{Tool: "a\uFFFD", Bucket: 2}: uses}, ofSession)
}

func TestCopy_EndsWithoutRows(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	b := m.openSource(t)
	fill(t, b)
	require.NoError(t, b.Store.Close())
	for name, stop := range map[string]func(store.CopyProgress) bool{
		"while events are copied":   func(p store.CopyProgress) bool { return p.Table == "events" && !p.IsCheck && p.Rows > 0 },
		"while events are compared": func(p store.CopyProgress) bool { return p.Table == "events" && p.IsCheck },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := m.run(ctx, func(p store.CopyProgress) {
			if stop(p) {
				cancel()
			}
		})
		require.Error(t, err, name)
		require.Zero(t, m.count(t, `SELECT (SELECT count(*) FROM hub) + (SELECT count(*) FROM events) + (SELECT count(*) FROM ledger) + (SELECT head FROM streams)`), name)
		cancel()
	}
	b.Reopen(t) // the file is not marked
	require.NoError(t, b.Store.Close())
	require.False(t, m.mustRun(t).Repeated)
}

// A hub that starts on the database while rows are copied does not come up, and changes nothing.
func TestCopy_KeepsHubsAway(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	b := m.openSource(t)
	b.AppendMany(t, 1000, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	require.NoError(t, b.Store.Close())
	hub := m
	hub.cfg.DSN = m.cfg.DSN + "&lock_timeout=100ms"
	tries := 0
	_, err := m.run(t.Context(), func(p store.CopyProgress) {
		if p.Table == "events" && p.IsCheck {
			tries++
			_, err := hub.openTarget(t.Context(), b.Clock.Now)
			require.ErrorContains(t, err, "lock timeout")
		}
	})
	require.NoError(t, err)
	require.Positive(t, tries)
	target, err := m.openTarget(t.Context(), b.Clock.Now)
	require.NoError(t, err)
	require.EqualValues(t, 1000, target.Head())
	require.NoError(t, target.Close())
}

// lyingSource reports another state than it has.
type lyingSource struct {
	store.CopySource
	change func(*store.CopyState)
}

func (s lyingSource) State() store.CopyState {
	state := s.CopySource.State()
	s.change(&state)
	return state
}

func TestCopy_ComparesBeforeCommit(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	b := m.openSource(t)
	fill(t, b)
	require.NoError(t, b.Store.Close())
	source, err := sqlite.OpenCopySource(t.Context(), m.file)
	require.NoError(t, err)
	defer func() { require.NoError(t, source.Close()) }()
	lie := lyingSource{source, func(s *store.CopyState) { s.ChainHash = "another" }}
	_, err = postgres.Copy(t.Context(), m.cfg, lie, func(store.CopyProgress) {})
	require.ErrorContains(t, err, "the audit log ends at entry")
	require.Zero(t, m.count(t, `SELECT count(*) FROM hub`))

	db := storetest.OpenSQL(t, strings.TrimSuffix(m.cfg.DSN, poolSize))
	for _, alteration := range []struct{ table, statement, want string }{
		{"events", `IF NEW.seq = 5 THEN NEW.payload = 'x'; END IF`, "table events: the copy differs: rows 1 to 100000 differ; nothing was kept"},
		{"names", `IF NEW.name = 'app1' THEN RETURN NULL; END IF`, "table names: "},
	} {
		_, err := db.ExecContext(t.Context(), `CREATE OR REPLACE FUNCTION alter_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN `+alteration.statement+`; RETURN NEW; END $$;
			CREATE TRIGGER alter_row BEFORE INSERT ON `+alteration.table+` FOR EACH ROW EXECUTE FUNCTION alter_row()`)
		require.NoError(t, err)
		_, err = postgres.Copy(t.Context(), m.cfg, source, func(store.CopyProgress) {})
		require.ErrorContains(t, err, alteration.want)
		require.Zero(t, m.count(t, `SELECT (SELECT count(*) FROM hub) + (SELECT count(*) FROM events)`))
		_, err = db.ExecContext(t.Context(), `DROP TRIGGER alter_row ON `+alteration.table)
		require.NoError(t, err)
	}
}

func TestCopy_RefusesUsedTarget(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	require.NoError(t, m.openSource(t).Store.Close())
	other, err := postgres.Open(t.Context(), postgres.Config{DSN: m.cfg.DSN, KeyFile: filepath.Join(t.TempDir(), "other.key")})
	require.NoError(t, err)
	_, err = m.run(t.Context(), nil)
	require.ErrorContains(t, err, "is not empty; nothing was changed")
	require.NoError(t, other.Close())
	_, err = m.run(t.Context(), nil)
	require.ErrorContains(t, err, "is not empty; nothing was changed")
	require.EqualValues(t, 1, m.count(t, `SELECT count(*) FROM hub`))
	require.NoFileExists(t, m.cfg.KeyFile)

	db := storetest.OpenSQL(t, strings.TrimSuffix(m.cfg.DSN, poolSize))
	for _, statement := range []string{`CREATE SCHEMA fresh`, `CREATE SCHEMA others`, `CREATE TABLE others.things (n int)`} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	dsn := strings.TrimSuffix(m.cfg.DSN, poolSize)
	m.cfg.DSN = dsn + "&search_path=others" + poolSize
	_, err = m.run(t.Context(), nil)
	require.ErrorContains(t, err, "the schema others is not empty")
	require.Zero(t, m.count(t, `SELECT count(*) FROM pg_class WHERE relname = 'events' AND relnamespace = 'others'::regnamespace`))
	m.cfg.DSN = dsn + "&search_path=missing" + poolSize
	_, err = m.run(t.Context(), nil)
	require.ErrorContains(t, err, "does not exist")
	m.cfg.DSN = dsn + "&search_path=fresh" + poolSize
	require.False(t, m.mustRun(t).Repeated, "without any table")
}

func TestCopy_RefusesSources(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	b := m.openSource(t)
	_, err := m.run(t.Context(), nil)
	require.ErrorIs(t, err, store.ErrLocked)
	require.NoError(t, b.Store.Close())

	unused := move{file: storetest.NewSQLiteFile(t), cfg: m.cfg}
	_, err = unused.run(t.Context(), nil)
	require.ErrorContains(t, err, "no hub has used it")
	missing := move{file: filepath.Join(t.TempDir(), "none.db"), cfg: m.cfg}
	_, err = missing.run(t.Context(), nil)
	require.Error(t, err)
	require.NoFileExists(t, missing.file)

	older := move{file: storetest.NewSQLiteFile(t), cfg: m.cfg}
	require.NoError(t, older.openSource(t).Store.Close())
	_, err = storetest.OpenSQL(t, older.file).ExecContext(t.Context(), `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	require.NoError(t, err)
	_, err = older.run(t.Context(), nil)
	require.ErrorContains(t, err, "start and stop the hub of this version")

	require.NoError(t, identity.Copy(identity.File(older.file), m.cfg.KeyFile))
	_, err = m.run(t.Context(), nil)
	require.ErrorIs(t, err, identity.ErrMismatch, "the key file of another hub stays")
}

// A crash after the commit leaves the file unmarked. The next run finds the copy.
func TestCopy_FindsItsCopy(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	b := m.openSource(t)
	fill(t, b)
	require.NoError(t, b.Store.Close())
	require.False(t, m.mustRun(t).Repeated)
	require.True(t, m.mustRun(t).Repeated)
	target, err := m.openTarget(t.Context(), b.Clock.Now)
	require.NoError(t, err)
	_, err = target.Append(t.Context(), conformance.NewDraft("app", "s", "Stop", ""))
	require.NoError(t, err)
	require.NoError(t, target.Close())
	require.True(t, m.mustRun(t).Repeated, "the hub has continued there")

	b.Open(t)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	require.NoError(t, b.Store.Close())
	_, err = m.run(t.Context(), nil)
	require.ErrorContains(t, err, "the file was used afterwards; nothing was changed")
}

func TestCopySource_MovedFileIsRefused(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	require.NoError(t, m.openSource(t).Store.Close())
	source, err := sqlite.OpenCopySource(t.Context(), m.file)
	require.NoError(t, err)
	require.NoError(t, source.MarkMoved(t.Context(), "postgres://db.example/hub", conformance.ClockStart))
	require.NoError(t, source.Close())
	for range 2 {
		_, err = sqlite.Open(t.Context(), sqlite.Config{Path: m.file})
		require.ErrorContains(t, err, "this hub moved to postgres://db.example/hub at 2026-08-01 12:00 UTC")
	}
	_, err = m.run(t.Context(), nil)
	require.ErrorContains(t, err, "this hub moved")
	var version int64
	require.NoError(t, storetest.OpenSQL(t, m.file).QueryRowContext(t.Context(), `SELECT max(version_id) FROM goose_db_version`).Scan(&version))
	require.EqualValues(t, 1_000_000, version, "hubs that do not know the mark refuse the schema")
	require.NoError(t, sqlite.Backup(t.Context(), m.file, filepath.Join(t.TempDir(), "copy.db")), "it can be read")
}

// Every table and column of either engine is copied, or listed here with the reason.
func TestCopy_KnowsAllTables(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	require.NoError(t, m.openSource(t).Store.Close())
	ctx := t.Context()
	source, err := sqlite.OpenCopySource(ctx, m.file)
	require.NoError(t, err)
	defer func() { require.NoError(t, source.Close()) }()

	// Columns of PostgreSQL for which the file has no values.
	without := []string{
		"search_blocks", "search_grams", // built by the hub
		"streams", "goose_db_version", // set by the copy, and by the migrations
		"hubs", "leases", "deliveries.owner", "deliveries.machine", "questions.owner", "questions.machine", "epochs.timeline", // of the hubs that run
	}
	names := func(db, query string) (list []string) {
		rows, err := storetest.OpenSQL(t, db).QueryContext(ctx, query)
		require.NoError(t, err)
		defer func() { require.NoError(t, rows.Close()) }()
		for rows.Next() {
			var name string
			require.NoError(t, rows.Scan(&name))
			list = append(list, name)
		}
		require.NoError(t, rows.Err())
		return list
	}
	known := map[string]bool{}
	for _, name := range names(strings.TrimSuffix(m.cfg.DSN, poolSize), `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public'`) {
		known[name] = true
		table, column, _ := strings.Cut(name, ".")
		require.True(t, slices.Contains(source.Columns(table), column) || slices.Contains(without, name) || slices.Contains(without, table),
			"%s: copy it in sqlite.CopySource, or say here why not", name)
	}
	// Of SQLite: what PostgreSQL has in another form, or not.
	replaced := []string{
		"streams", "names", "zones", "search_blocks", "search_grams", "goose_db_version", "sqlite_sequence",
		"questions.last_change", "changes.previous",
	}
	for _, name := range names(m.file, `SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'`) {
		table, _, _ := strings.Cut(name, ".")
		require.True(t, known[name] || slices.Contains(replaced, name) || slices.Contains(replaced, table), "%s is not copied", name)
	}
}

// BenchmarkCopy copies 100,000 events of about a kilobyte.
func BenchmarkCopy(b *testing.B) {
	const events = 100_000
	b.Setenv("HOOKBACK_TEST_PGDATA", "/tmp")
	m := newMove(b)
	h := m.openSource(b)
	h.AppendMany(b, events, func(i int) *store.EventDraft {
		d := conformance.NewDraft(fmt.Sprint("app", i%20), fmt.Sprint("session", i%400), "PreToolUse", "Bash")
		d.Payload = payload
		return d
	})
	require.NoError(b, h.Store.Close())
	var took time.Duration
	var bytes int64
	for b.Loop() {
		b.StopTimer()
		m.cfg = newMove(b).cfg
		b.StartTimer()
		start := time.Now()
		bytes += m.mustRun(b).Bytes
		took += time.Since(start)
	}
	b.ReportMetric(float64(events)*float64(b.N)/took.Seconds(), "events/s")
	b.ReportMetric(float64(bytes)/took.Seconds()/1e6, "MB/s")
	b.ReportMetric(0, "ns/op")
}
