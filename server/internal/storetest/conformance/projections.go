package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

// NewSessionRow returns the row of a session whose newest event is last.
func NewSessionRow(session string, first, last schema.EventID) store.SessionRow {
	return store.SessionRow{App: "app", Session: session, First: first, Last: last, Text: "title of " + session, Facts: fmt.Appendf(nil, `{"last":%d}`, last)}
}

// MustProject applies a projection batch, by default up to the head of the log.
func (b *Harness) MustProject(t testing.TB, d *store.ProjectionBatch) {
	t.Helper()
	if d.To == 0 {
		d.To = b.Head()
	}
	require.NoError(t, b.ApplyProjection(context.Background(), d))
}

func (b *Harness) sessionFacts(t testing.TB, f store.SessionFilter) (list []string) {
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

func (s suite) TestApplyProjection_IsAtomic(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	d := &store.ProjectionBatch{
		From: 0, To: 1, Sessions: []store.SessionRow{NewSessionRow("s", 1, 1)},
		Activity:  map[store.ActivityKey]store.Activity{{Quarter: 100, App: "app"}: {Events: 1, Tokens: history.Tokens{Input: 5, CacheWrite: 1}, CostUSD: 0.5}},
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
	b.Reopen(t)

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
	require.Equal(t, store.Activity{Events: 2, Tokens: history.Tokens{Input: 10, CacheWrite: 2}, CostUSD: 1}, activity["app"])
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

// A batch that may wait is stored together with the next write, or once its channel is closed.
func (s suite) TestApplyProjection_JoinsCommit(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	urgent := make(chan struct{})
	apply := func(from, to int64) <-chan error {
		stored := make(chan error, 1)
		go func() {
			stored <- b.ApplyProjection(ctx, &store.ProjectionBatch{From: from, To: to, JoinUntil: urgent})
		}()
		return stored
	}
	stored := apply(0, 1)
	for waiting := true; waiting; {
		b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
		select {
		case err := <-stored:
			require.NoError(t, err)
			waiting = false
		default:
		}
	}
	stored = apply(1, 2)
	close(urgent)
	require.NoError(t, <-stored)
	cursor, err := b.ProjectionCursor(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, cursor)
	require.ErrorIs(t, <-apply(1, 2), store.ErrConflict)

	given, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, b.ApplyProjection(given, &store.ProjectionBatch{From: 2, To: 3, JoinUntil: make(chan struct{})}), context.Canceled)
	waits := make(chan error, 1)
	go func() {
		waits <- b.ApplyProjection(ctx, &store.ProjectionBatch{From: 2, To: 3, JoinUntil: make(chan struct{})})
	}()
	require.NoError(t, b.Close())
	require.ErrorIs(t, <-waits, schema.ErrStopping)
	b.Open(t)
}

func (s suite) TestLogEntries_ReturnsEventsAndEnds(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	d := NewDraft("app", "s", "Stop", "")
	d.Transcript = []byte(`[1]`)
	d.Payload = []byte(`{"long":"` + strings.Repeat("x", schema.MaxListed) + `"}`)
	b.MustAppend(t, d)
	b.MustAppend(t, NewQuestionDraft("s", time.Time{}))
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	b.Answer(t, 2)
	q := b.MustQuestion(t, 2)
	require.NoError(t, b.Apply(ctx, store.Change{Event: &q.Event, Version: q.Version, State: q.State, Status: []byte(`{"status":"responded"}`)}))

	entries, upTo, err := b.LogEntries(ctx, store.ProjectionReader, 0, 100)
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
		piece, upTo, err := b.LogEntries(ctx, store.ProjectionReader, at, 1)
		require.NoError(t, err)
		require.Equal(t, at+1, upTo)
		for _, e := range piece {
			seqs = append(seqs, e.Seq)
		}
		at = upTo
	}
	require.Equal(t, []int64{1, 2, 3, 4}, seqs)
	entries, upTo, err = b.LogEntries(ctx, store.ProjectionReader, 5, 10)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.EqualValues(t, 5, upTo)
}

// The entries that the engine has in memory equal the ones that it reads after a restart, and they do
// not share bytes with the poster.
func (s suite) TestLogEntries_AreEqualAfterReopen(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	posted := NewDraft("app", "s", "Stop", "Bash")
	b.MustAppend(t, posted)
	clear(posted.Payload)
	clear(posted.Envelope)
	b.MustAppend(t, NewQuestionDraft("s", time.Time{}))
	b.Answer(t, 2)
	q := b.MustQuestion(t, 2)
	require.NoError(t, b.Apply(ctx, store.Change{Event: &q.Event, Version: q.Version, State: q.State, Status: []byte(`{"status":"responded"}`)}))
	chat := NewDraft("app", "s", "Stop", "")
	chat.Transcript = []byte(`[1]`)
	b.MustAppend(t, chat)
	b.MustAppend(t, NewDraft("other", "s2", "PreToolUse", ""))

	readAll := func() (all []store.LogEntry) {
		for at := int64(0); at < b.Head(); {
			entries, upTo, err := b.LogEntries(ctx, store.ProjectionReader, at, 100)
			require.NoError(t, err)
			require.Greater(t, upTo, at)
			all, at = append(all, entries...), upTo
		}
		return all
	}
	before := readAll()
	require.Len(t, before, 5)
	b.Reopen(t)
	require.Equal(t, before, readAll())
}

// One call returns no more than fits the page size.
func (s suite) TestLogEntries_LimitsPageSize(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for range 6 {
		d := NewDraft("app", "s", "Stop", "")
		d.Transcript = []byte(`["` + strings.Repeat("x", 4<<20) + `"]`)
		b.MustAppend(t, d)
	}
	entries, upTo, err := b.LogEntries(context.Background(), store.ProjectionReader, 0, 100)
	require.NoError(t, err)
	require.Less(t, len(entries), 6)
	require.EqualValues(t, len(entries), upTo)
	rest, upTo, err := b.LogEntries(context.Background(), store.ProjectionReader, upTo, 100)
	require.NoError(t, err)
	require.EqualValues(t, 6, upTo)
	require.Len(t, rest, 6-len(entries))
}

// A projector that is far behind continues after the pruned rows.
func (s suite) TestLogEntries_SkipsPrunedRows(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for range 100 {
		b.MustAppend(t, NewDraft("app", "old", "Stop", ""))
	}
	b.MustAppend(t, NewQuestionDraft("old", time.Time{}))
	b.Answer(t, 101)
	b.Clock.Advance(2 * time.Hour)
	b.MustAppend(t, NewDraft("app", "young", "Stop", ""))
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now().Add(-time.Hour)})
	require.NoError(t, err)
	_, err = b.After(ctx, 0, 10)
	require.ErrorIs(t, err, store.ErrPruned)
	var seqs []int64
	for at, turn := int64(0), 0; at < b.Head(); turn++ {
		require.Less(t, turn, 20)
		entries, upTo, err := b.LogEntries(ctx, store.ProjectionReader, at, 10)
		require.NoError(t, err)
		for _, e := range entries {
			seqs = append(seqs, e.Seq)
		}
		at = upTo
	}
	require.Equal(t, []int64{101, 102, 103}, seqs)

	b.SetDelivery(t, 101, store.Delivery{State: schema.Acked})
	b.Clock.Advance(2 * time.Hour)
	_, err = b.Prune(ctx, store.RetentionPolicy{QuestionsBefore: b.Clock.Now().Add(-time.Hour)})
	require.NoError(t, err)
	entries, upTo, err := b.LogEntries(ctx, store.ProjectionReader, 100, 10)
	require.NoError(t, err)
	require.Equal(t, b.Head(), upTo)
	require.Len(t, entries, 1)
}

func (s suite) TestSessions_PagesAndSearches(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	d := &store.ProjectionBatch{}
	for i := range 10 {
		b.MustAppend(t, NewDraft("app", fmt.Sprint("s", i), "Stop", ""))
		row := NewSessionRow(fmt.Sprint("s", i), schema.EventID(i+1), schema.EventID(i+1))
		if i%3 == 0 {
			row.App = "third"
			b.MustAppend(t, NewDraft("third", row.Session, "Stop", ""))
			row.Last = schema.EventID(b.Head())
		}
		d.Sessions = append(d.Sessions, row)
	}
	for i := range d.Sessions { // the other sessions have a single event
		if d.Sessions[i].App == "app" {
			d.Sessions[i].Last = schema.EventID(i + 1 + (i+2)/3)
		}
	}
	b.MustProject(t, d)
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

func (s suite) TestPendingCounts_CountsBySession(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	for _, session := range []string{"a", "b", "a", "c"} {
		b.MustAppend(t, NewQuestionDraft(session, time.Time{}))
	}
	b.Answer(t, 4)
	counts, err := b.PendingCounts(ctx)
	require.NoError(t, err)
	require.Equal(t, map[store.SessionKey]int64{{App: "app", Session: "a"}: 2, {App: "app", Session: "b"}: 1}, counts)
}

// Sessions are removed only with their last event. Aggregates have their own limit.
func (s suite) TestPrune_RemovesEmptySessions(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	add := func(app, session string) schema.EventID {
		return b.MustAppend(t, NewDraft(app, session, "Stop", "")).ID
	}
	b.AppendMany(t, 700, func(int) *store.EventDraft { return NewDraft("app", "gone", "Stop", "") }) // more than a name segment
	add("app", "stays with a question")
	asked := b.MustAppend(t, NewQuestionDraft("stays with a question", time.Time{})).ID
	add("app", "stays with a question")
	add("app", "shares its id")
	b.Clock.Advance(2 * time.Hour)
	young := add("other", "shares its id")
	add("app", "not yet projected")
	head := schema.EventID(b.Head())
	b.MustProject(t, &store.ProjectionBatch{
		Sessions: []store.SessionRow{
			NewSessionRow("gone", 1, 700), NewSessionRow("stays with a question", 701, asked+1), NewSessionRow("shares its id", asked+2, asked+2),
			{App: "other", Session: "shares its id", First: young, Last: young, Facts: []byte(`{}`)}, NewSessionRow("not yet projected", head, head),
		},
		Activity:  map[store.ActivityKey]store.Activity{{Quarter: 5000, App: "app"}: {Events: 700}},
		ToolTimes: map[store.ToolKey]store.ToolTime{{Session: 1, Quarter: 5000, Tool: "Bash", Bucket: 3}: {Calls: 2}},
	})
	_, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now().Add(-time.Hour), Batch: 50})
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
	b.MustProject(t, &store.ProjectionBatch{From: b.Head(), To: b.Head() + 1, Sessions: []store.SessionRow{NewSessionRow("gone", 1, 700)}})
	require.False(t, has("app", "gone"))

	b.Answer(t, asked)
	b.SetDelivery(t, asked, store.Delivery{State: schema.Acked})
	b.Clock.Advance(2 * time.Hour)
	_, err = b.Prune(ctx, store.RetentionPolicy{QuestionsBefore: b.Clock.Now().Add(-time.Hour), ProjectionsBefore: time.UnixMilli(5000 * store.QuarterMS)})
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

func (s suite) TestSpend_FollowsSession(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	key := store.SpendKey{Session: 1, Quarter: 100, Model: "opus"}
	used := store.Spend{Tokens: history.Tokens{Input: 5, Output: 4, CacheRead: 3, CacheWrite: 2}, CostUSD: 0.5}
	row := NewSessionRow("s", 1, 1)
	row.Person, row.Project = "ada", "/src/a"
	d := &store.ProjectionBatch{From: 0, To: 1, Sessions: []store.SessionRow{row}, Spend: map[store.SpendKey]store.Spend{key: used}}
	require.NoError(t, b.ApplyProjection(ctx, d))
	b.MustAppend(t, NewDraft("app", "s", "Stop", ""))
	row = NewSessionRow("s", 1, 2)
	row.Person, row.Project, row.Moved = "bob", "/src/b", true
	require.NoError(t, b.ApplyProjection(ctx, &store.ProjectionBatch{From: 1, To: 2, Sessions: []store.SessionRow{row}, Spend: map[store.SpendKey]store.Spend{
		key: {Tokens: history.Tokens{Input: -2}, CostUSD: 0.25}, {Session: 1, Quarter: 101, Model: "opus"}: {CostUSD: 1},
	}}))
	b.Reopen(t)
	for name, c := range map[string]struct {
		from, to int64
		want     map[store.SpendGroup]store.Spend
	}{
		"all": {0, 200, map[store.SpendGroup]store.Spend{
			{Quarter: 100, App: "app", Model: "opus", Person: "bob", Project: "/src/b"}: {Tokens: history.Tokens{Input: 3, Output: 4, CacheRead: 3, CacheWrite: 2}, CostUSD: 0.75},
			{Quarter: 101, App: "app", Model: "opus", Person: "bob", Project: "/src/b"}: {CostUSD: 1},
		}},
		"one":  {101, 102, map[store.SpendGroup]store.Spend{{Quarter: 101, App: "app", Model: "opus", Person: "bob", Project: "/src/b"}: {CostUSD: 1}}},
		"none": {102, 200, map[store.SpendGroup]store.Spend{}},
	} {
		got, err := b.Spend(ctx, c.from, c.to)
		require.NoError(t, err)
		require.Equal(t, c.want, got, name)
	}
	for _, f := range []store.SessionFilter{{Person: "bob"}, {Person: "bob", App: "app"}, {Person: "bob", Text: "title"}, {Person: "bob", App: "app", Text: "title"}} {
		require.Equal(t, []string{`{"last":2}`}, b.sessionFacts(t, f), "%+v", f)
	}
	for _, f := range []store.SessionFilter{{Person: "ada"}, {Person: "bob", App: "other"}, {Person: "ada", Text: "title"}, {Person: "bob", Text: "none"}} {
		require.Empty(t, b.sessionFacts(t, f), "%+v", f)
	}
	require.Error(t, b.ApplyProjection(ctx, &store.ProjectionBatch{From: 2, To: 3, Spend: map[store.SpendKey]store.Spend{{Session: 9}: used}}), "a session without a row")
}

func (s suite) TestSessionsOf_CountsActiveSince(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	b.MustAppend(t, NewDraft("app", "old", "Stop", ""))
	b.Clock.Advance(time.Hour)
	for i := range 3 {
		b.MustAppend(t, NewDraft("app", fmt.Sprint("s", i), "Stop", ""))
	}
	rows := []store.SessionRow{NewSessionRow("old", 1, 1), NewSessionRow("s0", 2, 2), NewSessionRow("s1", 3, 3), NewSessionRow("s2", 4, 4)}
	for i := range rows {
		rows[i].Active = ClockStart.Add(time.Duration(min(1, i)) * time.Hour).UnixMilli()
	}
	b.MustProject(t, &store.ProjectionBatch{Sessions: rows})
	for since, want := range map[time.Duration]int64{0: 4, time.Minute: 3, 2 * time.Hour: 0} {
		active, latest, err := b.SessionsOf(ctx, "app", ClockStart.Add(since))
		require.NoError(t, err)
		require.Equal(t, want, active)
		require.JSONEq(t, `{"last":4}`, string(latest))
	}
	active, latest, err := b.SessionsOf(ctx, "nobody", ClockStart)
	require.NoError(t, err)
	require.Zero(t, active)
	require.Nil(t, latest)
}

// A session that is known only from a transcript is removed by its own time, with its events and its
// transcript: it was received later.
func (s suite) TestPrune_RemovesImportsByOwnTime(t *testing.T) {
	t.Parallel()
	b, ctx := s.open(t), context.Background()
	var rows []store.SessionRow
	add := func(session, typ string, active time.Duration, imported bool) schema.EventID {
		d := NewDraft("app", session, typ, "")
		d.Transcript = []byte(`[{"text":"zebra"}]`)
		id := b.MustAppend(t, d).ID
		row := NewSessionRow(session, id, id)
		row.Active, row.Imported = ClockStart.Add(-active).UnixMilli(), imported
		rows = append(rows, row)
		return id
	}
	old := add("old", history.EventSessionImported, 40*24*time.Hour, true)
	again := b.MustAppend(t, NewDraft("app", "old", history.EventSessionImported, "")).ID // the session was imported again
	rows[0].Last = again
	kept := []schema.EventID{
		add("young", history.EventSessionImported, 20*24*time.Hour, true),
		add("goes on", history.EventSessionImported, 40*24*time.Hour, false),
		add("not an import", "Stop", 40*24*time.Hour, true),
	}
	b.MustProject(t, &store.ProjectionBatch{Sessions: rows})
	require.Equal(t, []string{`{"last":3}`, `{"last":5}`, `{"last":4}`, `{"last":1}`}, b.sessionFacts(t, store.SessionFilter{}), "by their own time")
	none, err := b.Prune(ctx, store.RetentionPolicy{MaxBytes: 1 << 40})
	require.NoError(t, err)
	require.Zero(t, none.Events)
	done, err := b.Prune(ctx, store.RetentionPolicy{EventsBefore: ClockStart.Add(-30 * 24 * time.Hour), Batch: 1})
	require.NoError(t, err)
	require.EqualValues(t, 2, done.Events)
	for _, id := range []schema.EventID{old, again} {
		_, _, err := b.Event(ctx, id)
		require.ErrorIs(t, err, schema.ErrNotFound)
	}
	for _, id := range kept {
		_, transcript, err := b.Event(ctx, id)
		require.NoError(t, err)
		require.NotEmpty(t, transcript)
	}
	require.Len(t, b.sessionFacts(t, store.SessionFilter{}), 3)
}

func (s suite) TestReaders_StopOnCancel(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	b.MustAppend(t, NewQuestionDraft("s", time.Time{}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, read := range map[string]func() error{
		"Cursor":        func() error { _, err := b.ProjectionCursor(ctx); return err },
		"LogEntries":    func() error { _, _, err := b.LogEntries(ctx, store.ProjectionReader, 0, 9); return err },
		"Sessions":      func() error { _, _, err := b.Sessions(ctx, store.SessionFilter{Limit: 1}); return err },
		"search":        func() error { _, _, err := b.Sessions(ctx, store.SessionFilter{Limit: 1, Text: "x"}); return err },
		"SessionFacts":  func() error { _, err := b.SessionFacts(ctx, "a", "b"); return err },
		"SessionTools":  func() error { _, err := b.SessionTools(ctx, 1); return err },
		"SessionsOf":    func() error { _, _, err := b.SessionsOf(ctx, "a", ClockStart); return err },
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
