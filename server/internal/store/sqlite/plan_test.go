package sqlite

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Every query uses an index and needs no sorting. A changed plan changes the golden file
// and has to be reviewed.
func TestQueryPlans_UseIndexes(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	for range 3 {
		b.MustAppend(t, conformance.NewDraft("app", "s", "PreToolUse", "Bash"))
	}
	var golden strings.Builder
	for _, q := range plannedQueries(t, b) {
		if q.golden {
			fmt.Fprintf(&golden, "%s\n", q.name)
		}
		for _, line := range explainPlan(t, b, q.query, q.args) {
			require.NotContains(t, line, "TEMP B-TREE", q.name)
			for _, table := range []string{"e", "events", "q", "questions", "d", "deliveries", "changes", "ledger", "z", "zones", "names", "derived", "sessions", "session_tools", "decisions", "activity", "notices", "noticed", "links_used", "chat_accounts", "chat_messages", "tool_histograms", "awaiting"} {
				require.False(t, line == "SCAN "+table || !isBounded(line) && strings.Contains(line, "SCAN "+table+" "), "%s: %s", q.name, line)
			}
			if q.golden {
				fmt.Fprintf(&golden, "    %s\n", line)
			}
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/plans.txt", []byte(golden.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/plans.txt")
	require.NoError(t, err)
	got, query := strings.Split(golden.String(), "\n"), ""
	for i, line := range strings.Split(string(want), "\n") {
		if !strings.HasPrefix(line, " ") {
			query = line
		}
		require.Less(t, i, len(got), "%s is gone; run with -update if this is meant", query)
		require.Equal(t, line, got[i], "%s; run with -update if this is meant", query)
	}
}

// isBounded reports whether a line of a plan is a scan of the few undelivered answers, or of the few queued notifications.
func isBounded(line string) bool {
	return strings.HasSuffix(line, " INDEX deliveries_undelivered") || strings.HasSuffix(line, " INDEX notices_due")
}

type plannedQuery struct {
	name, query string
	args        []any
	golden      bool // false for filters whose plan another combination covers
}

func plannedQueries(t *testing.T, b *testStore) []plannedQuery {
	list := []plannedQuery{
		{"Event", queryEvent, []any{1}, true},
		{"Question", queryQuestion, []any{1}, true},
		{"Append, by key", queryByKey, []any{"k"}, true},
		{"Recent", queryRecent, []any{300}, true},
		{"Pending", queryPending, []any{0}, true},
		{"After, events", queryLogEvents, []any{0, 9, 9}, true},
		{"After, changes", queryLogChanges, []any{0, 9, 9}, true},
		{"After, event of a resolution", queryLogEvent, []any{1}, true},
		{"FilterOptions, in order", queryNamesInOrder, []any{1, 9}, true},
		{"SessionsNamed", querySessionsWithID, []any{"s"}, true},
		{"FilterOptions, sessions", queryNamesNewest, []any{2, 9}, true},
		{"LeaseDeliveries, next", queryNextDelivery, nil, true},
		{"LeaseDeliveries, due", queryDueDeliveries, []any{1}, true},
		{"CheckLedger", querySignedLedger, nil, true},
		{"Inbox", queryInbox, []any{0, 9, 9}, true},
		{"Inbox, one status", queryInboxStatus, []any{"pending", 0, 9, 9}, true},
		{"Inbox, one agent", queryInboxAgent, []any{1, "decided", 0, 9, 9}, true},
		{"Inbox, waiting for a person", queryInboxAwaiting, []any{"ada", 0, 9, 9}, true},
		{"Inbox, one agent waiting for a person", queryInboxAwaitingAgent, []any{"ada", 1, 0, 9, 9}, true},
		{"Inbox, rows", queryInboxRows, []any{"[1,2]"}, true},
		{"InboxDays", queryCountStatus, []any{"pending", 0, 9}, true},
		{"InboxDays, one agent", queryCountAgent, []any{1, "decided", 0, 9}, true},
		{"InboxCounts, waiting for a person", queryCountAwaiting, []any{"ada"}, true},
		{"InboxCounts, agents", queryRequesters, nil, true},
		{"Prune, segments with test requests", queryTestSegments, []any{1, 9}, true},
		{"Prune, events of test requests", queryPrunableTest, []any{0, 9, 1, 9}, true},
		{"Prune, test requests", queryPrunableTestQuestions, []any{0, 9, 1, 9}, true},
		{"Append, pending questions of a shared listener", querySharedListener, []any{[]byte("k"), 9}, true},
		{"Append, unsent answers to a shared listener", queryUnsentToListener, []any{[]byte("k"), 9}, true},
		{"Questions", queryQuestions, []any{9, 9}, true},
		{"Listeners", queryListeners, []any{0, 9}, true},
		{"From and To", queryReceived, []any{1}, true},
		{"From and To, mark since a time", queryMarkSince, []any{1}, true},
		{"From and To, mark before a time", queryMarkBefore, []any{1}, true},
		{"Prune, events", queryPrunable, []any{0, 9, 9}, true},
		{"Prune, questions", queryPrunableQuestions, []any{0, 9, 9, 9}, true},
		{"Open, pending", queryPendingQuestions, nil, true},
		{"Open, last change", queryLastChange, nil, true},
		{"Open, last event", queryLastEvent, []any{1}, true},
		{"Open, uncounted events", queryUncountedCount, []any{1}, true},
		{"Open, uncounted decisions", queryUncountedEnds, []any{1}, true},
		{"Stats, undelivered", queryCountUndelivered, nil, true},
		{"Cursor", queryCursor, nil, true},
		{"LogEntries, events", queryEntryEvents, []any{0, 9}, true},
		{"LogEntries, resolutions", queryEntryEnds, []any{0, 9}, true},
		{"SessionFacts", querySessionFacts, []any{"app", "s"}, true},
		{"Sessions", querySessions, []any{9, 9}, true},
		{"Sessions of an application", querySessionsOf, []any{"app", 9, 9}, true},
		{"Sessions, search, active since", queryNewSessionTexts, []any{9, 9}, true},
		{"Sessions, search", querySessionTexts, []any{9, 9}, true},
		{"Sessions, found", querySessionByLast, []any{9}, true},
		{"SessionTools", querySessionTools, []any{1}, true},
		{"Decisions", queryDecisions, []any{0, 9}, true},
		{"Activity", queryActivity, []any{1, 0, 9}, true},
		{"ToolTimes", queryToolTimes, []any{1, 0, 9}, true},
		{"SessionsOf, count", queryCountSessions, []any{"app", 9}, true},
		{"SessionsOf, latest", queryLatestSession, []any{"app"}, true},
		{"Prune, imported sessions", queryPrunableImports, []any{0, 9, 9}, true},
		{"Prune, events of an import", queryImportEvents, []any{"app", "s", "Stop", 8, 255}, true},
		{"Prune, remaining event of a session", queryRemainingEvent, []any{"app", "s"}, true},
	}
	for _, q := range conformance.Statements(t, &b.Tables, 0) {
		list = append(list, plannedQuery{q.Name, q.Query, q.Args, true})
	}
	for _, f := range conformance.FilterCombinations() {
		q, ok, err := b.newFilterQuery(context.Background(), &f)
		require.NoError(t, err)
		require.True(t, ok)
		name := fmt.Sprintf("Find app=%q session=%q type=%q tool=%q status=%q text=%q after=%d", f.App, f.Session, f.Type, f.Tool, f.Status, f.Text, f.After)
		golden := f.App+f.Tool == "" && (f.Text == "" || f.Session == "")
		query, args := q.sql(1, 1, 9)
		list = append(list, plannedQuery{name, query, args, golden})
		if f.Status == "" && len(q.names) > 0 {
			query, args = q.nameSegmentSQL(9)
			list = append(list, plannedQuery{name + ", name segments", query, args, golden})
		}
	}
	return append(list, plannedSearches(t, b)...)
}

// plannedSearches returns the statements of searches of every form.
func plannedSearches(t *testing.T, b *testStore) (list []plannedQuery) {
	list = append(list,
		plannedQuery{"Search, matching names", queryNames, []any{1, 9, "%", 9}, true},
		plannedQuery{"Search, trigrams", queryTrigrams, []any{1, 1, 9, "1"}, true},
		plannedQuery{"Index, stale block", queryStaleBlock, nil, true},
		plannedQuery{"Index, last block", queryLastBlock, nil, true},
		plannedQuery{"Index, next event", queryNextEvent, []any{1}, true},
		plannedQuery{"Index, events of a block", queryCountBlockEvents, []any{1, 9}, true},
		plannedQuery{"Search, questions of a window", queryQuestionsBetween, []any{1, 9}, true},
		plannedQuery{"Search, transcripts of a window", queryTranscriptsBetween, []any{1, 9}, true},
		plannedQuery{"Search, text of a transcript", queryTranscript, []any{1}, true},
		plannedQuery{"Sessions, search in transcripts", querySessionTranscripts, []any{9}, true},
		plannedQuery{"Sessions, session of a transcript", querySessionOfTranscript, []any{"app", "s"}, true},
		plannedQuery{"Search, rated calls of a window", queryRatedBetween, []any{1, 9}, true},
		plannedQuery{"Ratings, calls of a range", queryRiskyCalls, []any{1, 9, 9}, true},
		plannedQuery{"Ratings, calls of a session", querySessionsRisky, []any{"s", "app", 1, 9, 9}, true},
		plannedQuery{"Search, number of names", queryCountNames, []any{1, 9}, true},
	)
	for _, text := range conformance.PlannedSearches {
		for _, ascending := range []bool{false, true} {
			run := &searchRun{store: b.engine, SearchRun: kit.NewSearchRun(store.Search{Filter: conformance.MustParse(t, text), Oldest: ascending})}
			run.questionsOnly, run.ratedOnly, run.status = run.Filter.QuestionsOnly(), run.Filter.RatedOnly(), run.Filter.Status()
			run.transcriptsOnly = run.Filter.TranscriptsOnly()
			require.NoError(t, run.setBounds(context.Background()))
			list = append(list, plannedQuery{fmt.Sprintf("Search %s ascending=%v", text, ascending), run.sql(), []any{1, 9, 9}, !ascending})
			for _, n := range run.conditions {
				list = append(list, plannedQuery{"Search " + text + ", name segments of " + n.column, conditionSegmentsSQL(n), []any{1, 9}, !ascending})
			}
		}
	}
	return list
}

func explainPlan(t *testing.T, b *testStore, query string, args []any) (lines []string) {
	t.Helper()
	rows, err := b.readers.db.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+translate(query), translateArgs(args)...)
	require.NoError(t, err, query)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var id, parent, unused int
		var line string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &line))
		lines = append(lines, line)
	}
	require.NoError(t, rows.Err())
	return lines
}

// The writer's statements are spread over its ops, so the test runs the ops and explains
// the statements that the writer prepared. They use an index, too.
func TestWriterPlans_UseIndexes(t *testing.T) {
	t.Parallel()
	b, ctx := newTestStore(t), context.Background()
	d := conformance.NewQuestionDraft("s", conformance.ClockStart)
	d.IdempotencyKey, d.Transcript = "k", []byte(`[]`)
	b.MustAppend(t, d)
	b.MustAppend(t, d)
	b.Answer(t, 1)
	b.MustAppend(t, conformance.NewDraft("app", "s", "Stop", ""))
	require.ErrorIs(t, b.Apply(ctx, store.Change{Event: &store.Event{ID: 3}, Status: []byte(`{}`)}), schema.ErrNoQuestion)
	_, _, err := b.LeaseDeliveries(ctx, conformance.ClockStart, conformance.ClockStart, 9)
	require.NoError(t, err)
	b.SetDelivery(t, 1, store.Delivery{State: schema.Acked})
	b.Clock.Advance(time.Hour)
	b.MustProject(t, &store.ProjectionBatch{
		Sessions: []store.SessionRow{conformance.NewSessionRow("s", 1, 1)}, Activity: map[store.ActivityKey]store.Activity{{App: "app"}: {Events: 1}},
		Decisions: map[store.Decision]int64{{App: "app"}: 1}, ToolTimes: map[store.ToolKey]store.ToolTime{{Session: 1, Tool: "Bash"}: {Calls: 1}},
	})
	b.MustRate(t, &store.RatingBatch{
		Calls:  []store.RatedCall{conformance.NewRatedCall(3, history.CallRan), conformance.NewRatedCall(1, history.CallOpen)},
		Counts: map[store.CallKey]store.CallCount{{App: "app"}: {Calls: 1}},
	})
	_, err = b.Prune(ctx, store.RetentionPolicy{EventsBefore: b.Clock.Now(), QuestionsBefore: b.Clock.Now(), ProjectionsBefore: b.Clock.Now()})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	queries := slices.Sorted(maps.Keys(b.writer.statements.cache))
	require.Greater(t, len(queries), 20)
	b.Open(t)
	for _, query := range queries {
		if strings.HasPrefix(query, "INSERT") || !strings.Contains(query, " WHERE ") {
			continue
		}
		args := make([]any, 16)
		for _, line := range explainPlan(t, b, query, args[:countArgs(query)]) {
			require.False(t, strings.Contains(line, "SCAN") && !isBounded(line), "%s: %s", query, line)
			require.NotContains(t, line, "TEMP B-TREE", query)
		}
	}
}

// countArgs returns the number of arguments of a statement.
func countArgs(query string) int {
	n := 0
	for strings.Contains(query, fmt.Sprint("?", n+1)) || strings.Contains(query, fmt.Sprint("$", n+1)) {
		n++
	}
	return max(n, strings.Count(query, "?"))
}
