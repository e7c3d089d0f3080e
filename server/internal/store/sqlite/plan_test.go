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
	"github.com/hookback/hookback/server/internal/store/tables"
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
			if !slices.Contains(sortedByDesign, q.name) {
				require.NotContains(t, line, "TEMP B-TREE", q.name)
			}
			for _, table := range []string{"e", "events", "q", "questions", "d", "deliveries", "changes", "ledger", "z", "zones", "names", "derived", "sessions", "session_tools", "decisions", "activity", "notices", "noticed", "links_used", "chat_accounts", "chat_messages", "tool_histograms"} {
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

// sortedByDesign are the calls that sort or group few rows: an index for that would cost a page with every event.
var sortedByDesign = []string{`Sessions app="" person="ada" text=""`, "Spend", "CallCounts"}

type plannedQuery struct {
	name, query string
	args        []any
	golden      bool // false for filters whose plan another combination covers
}

func plannedQueries(t *testing.T, b *testStore) []plannedQuery {
	list := []plannedQuery{
		{"Append, by key", tables.QueryByKey, []any{"k"}, true},
		{"LeaseDeliveries, next", tables.QueryNextDelivery, nil, true},
		{"LeaseDeliveries, due", tables.QueryDueDeliveries, []any{1}, true},
		{"CheckLedger", querySignedLedger, nil, true},
		{"Open, pending", tables.QueryPendingQuestions, nil, true},
		{"Open, last change", queryLastChange, nil, true},
		{"Open, last event", queryLastEvent, []any{1}, true},
		{"Open, uncounted events", queryUncountedCount, []any{1}, true},
		{"Open, uncounted decisions", queryUncountedEnds, []any{1}, true},
	}
	for range 2 { // also of the agent of test requests
		b.MustAppend(t, conformance.NewDraft(schema.TestApp, "s", "Stop", ""))
	}
	calls := append(conformance.TableCalls(0), conformance.LogCalls(0, conformance.ClockStart.Add(-time.Hour))...)
	for _, q := range conformance.Statements(t, &b.Tables, calls) {
		isCovered := strings.HasPrefix(q.Name, "Find ") && (!strings.Contains(q.Name, `app=""`) || !strings.Contains(q.Name, `tool=""`) ||
			!strings.Contains(q.Name, `text=""`) && !strings.Contains(q.Name, `session=""`))
		args, err := b.readers.translateArgs(context.Background(), q.Args)
		require.NoError(t, err)
		list = append(list, plannedQuery{q.Name, q.Query, args, !isCovered})
	}
	return list
}

func explainPlan(t *testing.T, b *testStore, query string, args []any) (lines []string) {
	t.Helper()
	rows, err := b.readers.db.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+translate(query), args...)
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
		Counts: map[store.CallKey]store.CallCount{{Quarter: 1}: {Calls: 1}},
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
			require.False(t, strings.Contains(strings.ReplaceAll(line, "SCAN json_each", ""), "SCAN") && !isBounded(line), "%s: %s", query, line)
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
