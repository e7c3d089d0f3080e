package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// LogCalls are calls of the log, its questions and its projections. The log has rows after the position since.
// The last ones remove the events that were received before the time limit.
func LogCalls(since int64, limit time.Time) (calls []TableCall) {
	add := func(name string, run func(ctx context.Context, t *tables.Tables) error) {
		calls = append(calls, TableCall{name, run})
	}
	addLogReads(add, since)
	addInboxReads(add)
	addProjections(add, since)
	for _, f := range FilterCombinations() {
		name := fmt.Sprintf("Find app=%q session=%q type=%q tool=%q status=%q text=%q after=%d", f.App, f.Session, f.Type, f.Tool, f.Status, f.Text, f.After)
		add(name, func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Find(ctx, f)) })
	}
	for _, text := range PlannedSearches {
		for _, ascending := range []bool{false, true} {
			add(fmt.Sprintf("Search %s ascending=%v", text, ascending), func(ctx context.Context, t *tables.Tables) error {
				f, err := filter.Parse(text)
				if err != nil {
					return err
				}
				return errorOf(t.Search(ctx, store.Search{Filter: f, Oldest: ascending, Limit: 9}))
			})
		}
	}
	add("Index", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.NewIndexer().BuildNext(ctx)) })
	add("Index, after a change of its text", func(ctx context.Context, t *tables.Tables) error { return t.MarkStale(ctx) })
	add("Prune", func(ctx context.Context, t *tables.Tables) error {
		return errorOf(t.Prune(ctx, store.RetentionPolicy{
			EventsBefore: limit, QuestionsBefore: limit, TestsBefore: limit, ProjectionsBefore: limit, MaxBytes: 1 << 40,
		}))
	})
	return calls
}

type addCall func(name string, run func(ctx context.Context, t *tables.Tables) error)

func addLogReads(add addCall, since int64) {
	add("Event", func(ctx context.Context, t *tables.Tables) error {
		_, _, err := t.Event(ctx, 1)
		return err
	})
	add("After", func(ctx context.Context, t *tables.Tables) error {
		return errorOf(t.ReadLog(ctx, since, since+512, 512))
	})
	add("After, a resolution", func(ctx context.Context, t *tables.Tables) error {
		return errorOf(t.ReadLog(ctx, t.Head()-1, t.Head(), 1))
	})
	add("LogEntries", func(ctx context.Context, t *tables.Tables) error {
		_, _, err := t.LogEntries(ctx, store.RatingReader, since-1, 512) // not in memory
		return err
	})
	add("FilterOptions", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.FilterOptions(ctx)) })
	add("From and To", func(ctx context.Context, t *tables.Tables) error {
		at := time.UnixMilli(1000*since + 1)
		return errorOf(t.Find(ctx, store.Filter{From: at, To: at.Add(time.Second)}))
	})
}

func addInboxReads(add addCall) {
	for _, f := range []store.InboxFilter{
		{}, {Status: "pending"}, {Status: "decided"}, {Agents: []string{"app"}}, {Awaiting: "ada"}, {Awaiting: "ada", Agents: []string{"app"}},
	} {
		add(fmt.Sprintf("Inbox status=%q agents=%q awaiting=%q", f.Status, f.Agents, f.Awaiting), func(ctx context.Context, t *tables.Tables) error {
			f.Limit = 9
			_, _, err := t.Inbox(ctx, f)
			return err
		})
	}
	for _, agents := range [][]string{nil, {"app"}} {
		add(fmt.Sprint("InboxDays ", agents), func(ctx context.Context, t *tables.Tables) error {
			return errorOf(t.InboxDays(ctx, []time.Time{time.UnixMilli(0), time.Now()}, agents))
		})
	}
	add("InboxCounts", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.InboxCounts(ctx, "ada")) })
	add("Append, question of a shared listener", func(ctx context.Context, t *tables.Tables) error {
		return t.Write(ctx, tables.Plain, func(w *tables.Work) error { return w.Supersede(9, &store.NewQuestion{SharedListener: []byte("k")}) })
	})
	add("Question", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Question(ctx, 4)) })
	add("Pending", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Pending(ctx)) })
	add("Questions", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Questions(ctx, 9, 9)) })
}

func addProjections(add addCall, since int64) {
	for _, f := range []store.SessionFilter{{}, {App: "app"}, {Person: "ada"}, {Text: "x"}} {
		add(fmt.Sprintf("Sessions app=%q person=%q text=%q", f.App, f.Person, f.Text), func(ctx context.Context, t *tables.Tables) error {
			f.Limit = 9
			_, _, err := t.Sessions(ctx, f)
			return err
		})
	}
	add("SessionsWithID", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.SessionsWithID(ctx, "s")) })
	add("SessionFacts", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.SessionFacts(ctx, "app", "s")) })
	add("SessionTools", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.SessionTools(ctx, 1)) })
	add("SessionsOf", func(ctx context.Context, t *tables.Tables) error {
		_, _, err := t.SessionsOf(ctx, "app", time.UnixMilli(since))
		return err
	})
	add("Decisions", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Decisions(ctx, since, since+96)) })
	add("Activity", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Activity(ctx, since)) })
	add("ToolTimes", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.ToolTimes(ctx, since)) })
	add("Spend", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.Spend(ctx, since, since+96)) })
	for _, f := range []store.RiskyCallFilter{{}, {App: "app"}, {App: "app", Session: "s9"}} {
		add(fmt.Sprintf("RiskyCalls app=%q session=%q", f.App, f.Session), func(ctx context.Context, t *tables.Tables) error { return errorOf(t.RiskyCalls(ctx, f)) })
	}
	add("OverruledCalls", func(ctx context.Context, t *tables.Tables) error {
		return errorOf(t.OverruledCalls(ctx, since, since+9))
	})
	add("Recount", func(ctx context.Context, t *tables.Tables) error {
		return errorOf(t.Recount(ctx, time.UnixMilli(since*store.QuarterMS), time.UnixMilli((since+9)*store.QuarterMS)))
	})
	add("CountUndelivered", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.CountUndelivered(ctx)) })
	add("CallCounts", func(ctx context.Context, t *tables.Tables) error { return errorOf(t.CallCounts(ctx, since, since+96)) })
	add("ApplyProjection", func(ctx context.Context, t *tables.Tables) error {
		return t.ApplyProjection(ctx, &store.ProjectionBatch{
			Sessions:        []store.SessionRow{NewSessionRow("s", 1, 1)},
			RemovedSessions: []store.SessionKey{{App: "old", Session: "s"}},
			ToolTimes:       map[store.ToolKey]store.ToolTime{{Session: 1, Tool: "Bash"}: {Calls: 1}},
		})
	})
	add("ApplyRatings", func(ctx context.Context, t *tables.Tables) error {
		return t.ApplyRatings(ctx, &store.RatingBatch{Calls: []store.RatedCall{NewRatedCall(schema.EventID(since), history.CallRan)}})
	})
}
