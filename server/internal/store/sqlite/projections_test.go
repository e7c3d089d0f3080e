package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// newSessionRow returns the row of a session whose newest event is last.
func newSessionRow(session string, first, last schema.EventID) store.SessionRow {
	return store.SessionRow{App: "app", Session: session, First: first, Last: last, Text: "title of " + session, Facts: fmt.Appendf(nil, `{"last":%d}`, last)}
}

func (b *testStore) applyProjection(t testing.TB, d *store.ProjectionBatch) {
	t.Helper()
	if d.To == 0 {
		d.To = b.Head()
	}
	require.NoError(t, b.ApplyProjection(context.Background(), d))
}

func (b *testStore) sessionFacts(t testing.TB, f store.SessionFilter) (list []string) {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 100
	}
	facts, _, err := b.Sessions(context.Background(), f)
	require.NoError(t, err)
	for _, raw := range facts {
		list = append(list, string(raw))
	}
	return list
}

func TestApplyProjection_IsAtomic(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	b.append(t, newDraft("app", "s", "Stop", ""))
	d := &store.ProjectionBatch{
		From: 0, To: 1, Sessions: []store.SessionRow{newSessionRow("s", 1, 1)},
		Activity:  map[store.ActivityKey]store.Activity{{Quarter: 100, App: "app"}: {Events: 1, Tokens: schema.Tokens{Input: 5, CacheWrite: 1}, CostUSD: 0.5}},
		Decisions: map[store.Decision]int64{{Quarter: 100, App: "app", Outcome: "approved", Person: true, Bucket: 7}: 2},
		ToolTimes: map[store.ToolKey]store.ToolTime{{Session: 1, Quarter: 100, Tool: "Bash", Bucket: 7}: {Calls: 1, TotalMS: 7}},
	}
	require.NoError(t, b.ApplyProjection(ctx, d))
	require.ErrorIs(t, b.ApplyProjection(ctx, d), store.ErrConflict, "the cursor has advanced")
	cursor, err := b.ProjectionCursor(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, cursor)
	d.From, d.To = 1, 2
	require.NoError(t, b.ApplyProjection(ctx, d))
	b.reopen(t)

	for from, want := range map[int64]int64{0: 2, 96: 2, 97: 2, 100: 2, 101: 0, 192: 0} {
		activity, err := b.Activity(ctx, from)
		require.NoError(t, err)
		require.Equal(t, want, activity["app"].Events, "from %d", from)
		times, err := b.ToolTimes(ctx, from)
		require.NoError(t, err)
		require.Equal(t, want, times[store.ToolKey{Tool: "Bash", Bucket: 7}].Calls, "from %d", from)
	}
	activity, err := b.Activity(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, store.Activity{Events: 2, Tokens: schema.Tokens{Input: 10, CacheWrite: 2}, CostUSD: 1}, activity["app"])
	decisions, err := b.Decisions(ctx, 100, 101)
	require.NoError(t, err)
	require.Equal(t, map[store.Decision]int64{{Quarter: 100, App: "app", Outcome: "approved", Person: true, Bucket: 7}: 4}, decisions)
	decisions, err = b.Decisions(ctx, 101, 200)
	require.NoError(t, err)
	require.Empty(t, decisions)
	tools, err := b.SessionTools(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, map[store.ToolKey]store.ToolTime{{Tool: "Bash", Bucket: 7}: {Calls: 2, TotalMS: 14}}, tools)
	facts, err := b.SessionFacts(ctx, "app", "s")
	require.NoError(t, err)
	require.JSONEq(t, `{"last":1}`, string(facts))
	facts, err = b.SessionFacts(ctx, "other", "s")
	require.NoError(t, err)
	require.Nil(t, facts)
}

func TestLogEntries_ReturnsEventsAndEnds(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	d := newDraft("app", "s", "Stop", "")
	d.Transcript = []byte(`[1]`)
	d.Payload = []byte(`{"long":"` + strings.Repeat("x", schema.MaxListed) + `"}`)
	b.append(t, d)
	b.append(t, newQuestionDraft("s", time.Time{}))
	b.append(t, newDraft("app", "s", "Stop", ""))
	b.answer(t, 2)
	q := b.question(t, 2)
	require.NoError(t, b.Apply(ctx, store.Change{Event: &q.Event, Version: q.Version, State: q.State, Status: []byte(`{"status":"responded"}`)}))

	entries, upTo, err := b.LogEntries(ctx, 0, 100)
	require.NoError(t, err)
	require.EqualValues(t, 5, upTo, "a change that is no resolution is skipped")
	require.Len(t, entries, 4)
	require.Equal(t, string(d.Payload), string(entries[0].Event.Payload), "whole")
	require.Equal(t, "[1]", string(entries[0].Transcript))
	require.JSONEq(t, `{"status":"pending","revision":1}`, string(entries[1].Event.Status), "initial status")
	end := entries[3]
	require.True(t, end.Ends)
	require.Equal(t, []int64{4, 2}, []int64{end.Seq, int64(end.Event.ID)})
	require.JSONEq(t, `{"status":"responded","revision":2}`, string(end.Event.Status), "status after the resolution, not the current one")
	require.NotNil(t, end.Event.Question)

	// Reading in small steps returns the same entries.
	var seqs []int64
	for at, turn := int64(0), 0; at < b.Head(); turn++ {
		require.Less(t, turn, 10)
		piece, upTo, err := b.LogEntries(ctx, at, 1)
		require.NoError(t, err)
		require.Equal(t, at+1, upTo)
		for _, e := range piece {
			seqs = append(seqs, e.Seq)
		}
		at = upTo
	}
	require.Equal(t, []int64{1, 2, 3, 4}, seqs)
	entries, upTo, err = b.LogEntries(ctx, 5, 10)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.EqualValues(t, 5, upTo)
}

// One call returns no more than fits the page size.
func TestLogEntries_LimitsPageSize(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	for range 6 {
		d := newDraft("app", "s", "Stop", "")
		d.Transcript = []byte(`["` + strings.Repeat("x", 4<<20) + `"]`)
		b.append(t, d)
	}
	entries, upTo, err := b.LogEntries(context.Background(), 0, 100)
	require.NoError(t, err)
	require.Less(t, len(entries), 6)
	require.EqualValues(t, len(entries), upTo)
	rest, upTo, err := b.LogEntries(context.Background(), upTo, 100)
	require.NoError(t, err)
	require.EqualValues(t, 6, upTo)
	require.Len(t, rest, 6-len(entries))
}

// A projector that is far behind continues after the pruned rows.
func TestLogEntries_SkipsPrunedRows(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	for range 100 {
		b.append(t, newDraft("app", "old", "Stop", ""))
	}
	b.append(t, newQuestionDraft("old", time.Time{}))
	b.answer(t, 101)
	b.clock.advance(2 * time.Hour)
	b.append(t, newDraft("app", "young", "Stop", ""))
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.clock.now().Add(-time.Hour)})
	require.NoError(t, err)
	_, err = b.After(ctx, 0, 10)
	require.ErrorIs(t, err, store.ErrPruned)
	var seqs []int64
	for at, turn := int64(0), 0; at < b.Head(); turn++ {
		require.Less(t, turn, 20)
		entries, upTo, err := b.LogEntries(ctx, at, 10)
		require.NoError(t, err)
		for _, e := range entries {
			seqs = append(seqs, e.Seq)
		}
		at = upTo
	}
	require.Equal(t, []int64{101, 102, 103}, seqs)

	b.setDelivery(t, 101, store.Delivery{State: schema.Acked})
	b.clock.advance(2 * time.Hour)
	_, err = b.Prune(ctx, store.RetentionPolicy{QuestionsBefore: b.clock.now().Add(-time.Hour)})
	require.NoError(t, err)
	entries, upTo, err := b.LogEntries(ctx, 100, 10)
	require.NoError(t, err)
	require.Equal(t, b.Head(), upTo)
	require.Len(t, entries, 1)
}

func TestSessions_PagesAndSearches(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	d := &store.ProjectionBatch{}
	for i := range 10 {
		b.append(t, newDraft("app", fmt.Sprint("s", i), "Stop", ""))
		row := newSessionRow(fmt.Sprint("s", i), schema.EventID(i+1), schema.EventID(i+1))
		if i%3 == 0 {
			row.App = "third"
			b.append(t, newDraft("third", row.Session, "Stop", ""))
			row.Last = schema.EventID(b.Head())
		}
		d.Sessions = append(d.Sessions, row)
	}
	for i := range d.Sessions { // the other sessions have a single event
		if d.Sessions[i].App == "app" {
			d.Sessions[i].Last = schema.EventID(i + 1 + (i+2)/3)
		}
	}
	b.applyProjection(t, d)
	require.Len(t, b.sessionFacts(t, store.SessionFilter{}), 10)
	require.Len(t, b.sessionFacts(t, store.SessionFilter{App: "third"}), 4)
	require.Len(t, b.sessionFacts(t, store.SessionFilter{App: "third", Text: "OF S3"}), 1)
	require.Empty(t, b.sessionFacts(t, store.SessionFilter{App: "third", Text: "of s4"}))
	require.Empty(t, b.sessionFacts(t, store.SessionFilter{Text: "%"}), "LIKE wildcards are literal")
	all := b.sessionFacts(t, store.SessionFilter{})
	for _, f := range []store.SessionFilter{{Limit: 3}, {Limit: 3, Text: "title"}, {Limit: 10}, {Limit: 10, Text: "title"}} {
		var pages []string
		for turn := 0; turn == 0 || f.Before > 0; turn++ {
			require.Less(t, turn, 10)
			facts, next, err := b.Sessions(ctx, f)
			require.NoError(t, err)
			for _, raw := range facts {
				pages = append(pages, string(raw))
			}
			f.Before = next
		}
		require.Equal(t, all, pages)
	}
}

func TestPendingCounts_CountsBySession(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	for _, session := range []string{"a", "b", "a", "c"} {
		b.append(t, newQuestionDraft(session, time.Time{}))
	}
	b.answer(t, 4)
	counts, err := b.PendingCounts(ctx)
	require.NoError(t, err)
	require.Equal(t, map[store.SessionKey]int64{{App: "app", Session: "a"}: 2, {App: "app", Session: "b"}: 1}, counts)
}

// Sessions are removed only with their last event. Aggregates have their own limit.
func TestPrune_RemovesEmptySessions(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	add := func(app, session string) schema.EventID { return b.append(t, newDraft(app, session, "Stop", "")).ID }
	for range 700 { // more than a name segment
		add("app", "gone")
	}
	add("app", "stays with a question")
	asked := b.append(t, newQuestionDraft("stays with a question", time.Time{})).ID
	add("app", "stays with a question")
	add("app", "shares its id")
	b.clock.advance(2 * time.Hour)
	young := add("other", "shares its id")
	add("app", "not yet projected")
	head := schema.EventID(b.Head())
	b.applyProjection(t, &store.ProjectionBatch{
		Sessions: []store.SessionRow{
			newSessionRow("gone", 1, 700), newSessionRow("stays with a question", 701, asked+1), newSessionRow("shares its id", asked+2, asked+2),
			{App: "other", Session: "shares its id", First: young, Last: young, Facts: []byte(`{}`)}, newSessionRow("not yet projected", head, head),
		},
		Activity:  map[store.ActivityKey]store.Activity{{Quarter: 5000, App: "app"}: {Events: 700}},
		ToolTimes: map[store.ToolKey]store.ToolTime{{Session: 1, Quarter: 5000, Tool: "Bash", Bucket: 3}: {Calls: 2}},
	})
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.clock.now().Add(-time.Hour), Batch: 50})
	require.NoError(t, err)
	has := func(app, session string) bool {
		facts, err := b.SessionFacts(ctx, app, session)
		require.NoError(t, err)
		return facts != nil
	}
	require.False(t, has("app", "gone"))
	require.False(t, has("app", "shares its id"))
	require.True(t, has("other", "shares its id"))
	require.True(t, has("app", "stays with a question"))
	require.True(t, has("app", "not yet projected"))
	tools, err := b.SessionTools(ctx, 1)
	require.NoError(t, err)
	require.Empty(t, tools)
	times, err := b.ToolTimes(ctx, 0)
	require.NoError(t, err)
	require.NotEmpty(t, times, "aggregates by day stay")

	// A projector slower than retention does not bring back removed sessions.
	b.applyProjection(t, &store.ProjectionBatch{From: b.Head(), To: b.Head() + 1, Sessions: []store.SessionRow{newSessionRow("gone", 1, 700)}})
	require.False(t, has("app", "gone"))

	b.answer(t, asked)
	b.setDelivery(t, asked, store.Delivery{State: schema.Acked})
	b.clock.advance(2 * time.Hour)
	_, err = b.Prune(ctx, store.RetentionPolicy{QuestionsBefore: b.clock.now().Add(-time.Hour), ProjectionsBefore: time.UnixMilli(5000 * store.QuarterMS)})
	require.NoError(t, err)
	require.False(t, has("app", "stays with a question"))
	activity, err := b.Activity(ctx, 0)
	require.NoError(t, err)
	require.EqualValues(t, 700, activity["app"].Events, "not older than that quarter")
	_, err = b.Prune(ctx, store.RetentionPolicy{ProjectionsBefore: time.UnixMilli(5200 * store.QuarterMS)})
	require.NoError(t, err)
	activity, err = b.Activity(ctx, 0)
	require.NoError(t, err)
	require.Empty(t, activity)
	times, err = b.ToolTimes(ctx, 0)
	require.NoError(t, err)
	require.Empty(t, times)
}

func TestSessionsOf_CountsActiveSince(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	b.append(t, newDraft("app", "old", "Stop", ""))
	b.clock.advance(time.Hour)
	for i := range 3 {
		b.append(t, newDraft("app", fmt.Sprint("s", i), "Stop", ""))
	}
	b.applyProjection(t, &store.ProjectionBatch{Sessions: []store.SessionRow{newSessionRow("old", 1, 1), newSessionRow("s0", 2, 2), newSessionRow("s1", 3, 3), newSessionRow("s2", 4, 4)}})
	for since, want := range map[time.Duration]int64{0: 4, time.Minute: 3, 2 * time.Hour: 0} {
		active, latest, err := b.SessionsOf(ctx, "app", clockStart.Add(since))
		require.NoError(t, err)
		require.Equal(t, want, active)
		require.JSONEq(t, `{"last":4}`, string(latest))
	}
	active, latest, err := b.SessionsOf(ctx, "nobody", clockStart)
	require.NoError(t, err)
	require.Zero(t, active)
	require.Nil(t, latest)
}

// A database of schema 1 gets the new tables and keeps its log. The projector starts at
// the beginning.
func TestMigrate_KeepsLogOfFirstSchema(t *testing.T) {
	t.Parallel()
	b := &testStore{clock: &fakeClock{}}
	b.cfg = Config{Path: t.TempDir() + "/hub.db", ReserveFileBytes: -1, Clock: b.clock.now}
	db, err := sql.Open("sqlite", dsn(b.cfg.Path, "FULL", false))
	require.NoError(t, err)
	files, err := fs.Sub(migrations, "migrations")
	require.NoError(t, err)
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), 1)
	require.NoError(t, err)
	for _, statement := range []string{
		`INSERT INTO names (stream_id, kind, id, name) VALUES (1, 1, 1, 'app'), (1, 2, 2, 's'), (1, 3, 3, 'Stop')`,
		`INSERT INTO events (stream_id, seq, uid, received_at, timestamp, app, session, type, tool, asks, envelope, payload)
			VALUES (1, 1, zeroblob(16), 5, 5, 1, 2, 3, 0, 0, x'', x'7b7d')`,
		`UPDATE streams SET head = 1, events = 1, received = 5, name = 3`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	b.open(t)
	cursor, err := b.ProjectionCursor(t.Context())
	require.NoError(t, err)
	require.Zero(t, cursor)
	entries, upTo, err := b.LogEntries(t.Context(), cursor, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, upTo)
	require.Len(t, entries, 1)
	require.Equal(t, "app", entries[0].Event.App)
}

func TestReaders_StopOnCancel(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.append(t, newQuestionDraft("s", time.Time{}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, read := range map[string]func() error{
		"Cursor":        func() error { _, err := b.ProjectionCursor(ctx); return err },
		"LogEntries":    func() error { _, _, err := b.LogEntries(ctx, 0, 9); return err },
		"Sessions":      func() error { _, _, err := b.Sessions(ctx, store.SessionFilter{Limit: 1}); return err },
		"search":        func() error { _, _, err := b.Sessions(ctx, store.SessionFilter{Limit: 1, Text: "x"}); return err },
		"SessionFacts":  func() error { _, err := b.SessionFacts(ctx, "a", "b"); return err },
		"SessionTools":  func() error { _, err := b.SessionTools(ctx, 1); return err },
		"SessionsOf":    func() error { _, _, err := b.SessionsOf(ctx, "a", clockStart); return err },
		"PendingCounts": func() error { _, err := b.PendingCounts(ctx); return err },
		"Decisions":     func() error { _, err := b.Decisions(ctx, 0, 9); return err },
		"Activity":      func() error { _, err := b.Activity(ctx, 0); return err },
		"ToolTimes":     func() error { _, err := b.ToolTimes(ctx, 0); return err },
		"Derive":        func() error { return b.ApplyProjection(ctx, &store.ProjectionBatch{From: 5}) },
	} {
		err := read()
		require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, store.ErrConflict), "%s: %v", name, err)
	}
}
