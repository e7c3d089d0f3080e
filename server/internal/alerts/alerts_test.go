package alerts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/alerts"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a follower and a hub over a new store.
type fixture struct {
	*alerts.Follower
	t    testing.TB
	db   store.Store
	feed *feed.Feed
	hub  *hub.Hub
	now  time.Time
	call int
}

func newFixture(t testing.TB, rules ...control.AlertRule) *fixture {
	t.Helper()
	db := storetest.Open(t, storetest.Options{Fast: true})
	t.Cleanup(func() { _ = db.Close() })
	f := feed.New(0, 64, 1<<20)
	x := &fixture{t: t, db: db, feed: f, now: time.Now()}
	x.hub = hub.New(hub.Config{Store: db, Feed: f, Clock: func() time.Time { return x.now }})
	x.restart()
	for _, r := range rules {
		require.NoError(t, x.Rules.Create(t.Context(), r, "ada"))
	}
	return x
}

// restart replaces the parts that keep state in memory.
func (x *fixture) restart() {
	x.t.Helper()
	rules, err := alerts.OpenRules(x.t.Context(), x.db, x.feed)
	require.NoError(x.t, err)
	x.Follower = alerts.New(alerts.Config{Store: x.db, Live: live.New(x.db), Feed: x.feed, Rules: rules, Clock: func() time.Time { return x.now }})
}

func (x *fixture) post(session, typ, payload string) schema.EventID {
	x.t.Helper()
	ack, err := x.hub.Ingest(x.t.Context(), fmt.Appendf(nil, `{"source_app":"a","session_id":%q,"hook_event_type":%q,"payload":%s}`, session, typ, payload), hub.Caller{})
	require.NoError(x.t, err)
	return ack.ID
}

// end posts the end of a call of session s; failed names its error.
func (x *fixture) end(command, failed string) {
	x.t.Helper()
	x.call++
	typ, members := "PostToolUse", ""
	if failed != "" {
		typ, members = "PostToolUseFailure", fmt.Sprintf(`,"error":%q`, failed)
	}
	x.post("s", typ, fmt.Sprintf(`{"tool_use_id":"t%d","tool_name":"Bash","tool_input":{"command":%q}%s}`, x.call, command, members))
}

// read applies the rules and returns the alerts.
func (x *fixture) read() control.AlertList {
	x.t.Helper()
	require.NoError(x.t, x.Step(x.t.Context()))
	list, err := x.Read(x.t.Context())
	require.NoError(x.t, err)
	return list
}

func (x *fixture) requireOpen(evidence string) {
	x.t.Helper()
	list := x.read()
	require.Len(x.t, list.Open, 1)
	require.Equal(x.t, evidence, list.Open[0].Evidence)
	require.NotZero(x.t, list.Open[0].OpenedAt)
}

func (x *fixture) requireClosed(n int) {
	x.t.Helper()
	list := x.read()
	require.Empty(x.t, list.Open)
	require.Len(x.t, list.Closed, n)
}

func TestStuck_OpensOnceAndClosesWithNextEvent(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertStuck})
	x.post("s", "UserPromptSubmit", `{"prompt":"go"}`)
	x.post("idle", "UserPromptSubmit", `{"prompt":"go"}`)
	x.post("idle", "Stop", `{}`)
	x.post("ended", "PreToolUse", `{"tool_name":"Bash","tool_input":{}}`)
	x.post("ended", "SessionEnd", `{}`)
	x.now = x.now.Add(14 * time.Minute)
	require.Empty(t, x.read().Open)
	x.now = x.now.Add(2 * time.Minute)
	x.requireOpen("No event for 15 minutes in the middle of a turn.")
	x.requireOpen("No event for 15 minutes in the middle of a turn.")
	x.restart()
	x.requireOpen("No event for 15 minutes in the middle of a turn.")
	require.Equal(t, int64(1), x.read().Open[0].ID, "a restart opens no second alert")

	x.now = time.Now()
	x.post("s", "Notification", `{"message":"still here"}`)
	x.requireClosed(1)
	x.now = x.now.Add(16 * time.Minute)
	require.Equal(t, int64(2), x.read().Open[0].ID, "stuck again")
	x.now = x.now.Add(25 * time.Hour)
	x.requireClosed(2) // the agent was killed
}

func TestStuck_IgnoresAgentsThatWaitForPeople(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertStuck, Minutes: 1})
	x.post("s", "UserPromptSubmit", `{"prompt":"go"}`)
	_, err := x.hub.Ingest(t.Context(), []byte(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{},
		"humanInTheLoop":{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:1/"}}`), hub.Caller{})
	require.NoError(t, err)
	x.now = x.now.Add(time.Hour)
	require.Empty(t, x.read().Open)
	x.restart()
	require.Empty(t, x.read().Open, "also after a restart")
}

func TestStuck_CountsFromTheAnswer(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertStuck, Minutes: 5})
	x.post("s", "UserPromptSubmit", `{"prompt":"go"}`)
	ack, err := x.hub.Ingest(t.Context(), []byte(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{},
		"humanInTheLoop":{"question":"May I?","type":"permission","responseWebSocketUrl":"ws://127.0.0.1:1/"}}`), hub.Caller{})
	require.NoError(t, err)
	x.now = x.now.Add(time.Hour)
	yes := true
	_, err = x.hub.Respond(t.Context(), ack.ID, &schema.Response{Permission: &yes}, hub.Caller{})
	require.NoError(t, err)
	require.Empty(t, x.read().Open, "the agent has just got its answer")
	x.restart()
	require.Empty(t, x.read().Open, "also after a restart")
	x.now = x.now.Add(6 * time.Minute)
	x.requireOpen("No event for 5 minutes in the middle of a turn.")
}

// countingStore counts the rows of the log that were read.
type countingStore struct {
	store.Store
	rows int
}

func (s *countingStore) After(ctx context.Context, seq int64, limit int) ([]store.LogRow, error) {
	rows, err := s.Store.After(ctx, seq, limit)
	s.rows += len(rows)
	return rows, err
}

func TestFollower_ReadsTheLogOnceWithManySessions(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertStuck})
	counted := &countingStore{Store: x.db}
	x.Live = live.New(counted)
	for batch := range 11 {
		var body []string
		for i := range 1000 {
			body = append(body, fmt.Sprintf(`{"source_app":"a","session_id":"%d-%d","hook_event_type":"Notification","payload":{}}`, batch, i))
		}
		_, _, err := x.hub.IngestBatch(t.Context(), []byte("["+strings.Join(body, ",")+"]"), hub.Caller{})
		require.NoError(t, err)
	}
	x.post("s", "UserPromptSubmit", `{"prompt":"go"}`)
	require.Empty(t, x.read().Open)
	read := counted.rows
	require.Empty(t, x.read().Open)
	require.Equal(t, read, counted.rows, "rows that were read before")
	x.now = x.now.Add(16 * time.Minute)
	x.requireOpen("No event for 15 minutes in the middle of a turn.")
	require.Equal(t, read, counted.rows)
}

func TestFollower_AnnouncesAtMost20PerMinute(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertStuck})
	for i := range 50 {
		x.post(fmt.Sprint("s", i), "UserPromptSubmit", `{"prompt":"go"}`)
	}
	x.now = x.now.Add(16 * time.Minute)
	require.Len(t, x.read().Open, 50, "the inbox has all")
	x.post("late", "UserPromptSubmit", `{"prompt":"go"}`)
	x.now = x.now.Add(16 * time.Minute)
	require.Len(t, x.read().Open, 51)
	var announced []control.Alert
	require.ErrorIs(t, x.feed.Follow(t.Context(), feed.NewAlert, func(b *feed.Batch) error {
		for _, fact := range b.Facts {
			announced = append(announced, fact.Note.(control.Alert))
		}
		return context.Canceled
	}), context.Canceled)
	require.Len(t, announced, 21)
	for i, a := range announced {
		require.Equal(t, i == 19, strings.HasSuffix(a.Evidence, "More alerts are in the inbox."), i)
	}
}

func TestErrors_FollowsTheLastCalls(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertErrors, Calls: 4, Percent: 50})
	x.end("a", "exit status 1")
	x.end("b", "exit status 1")
	x.end("c", "")
	require.Empty(t, x.read().Open, "fewer calls than the rule needs")
	x.end("d", "")
	x.requireOpen("2 of the last 4 calls failed.")
	x.restart()
	x.requireOpen("2 of the last 4 calls failed.")
	x.end("e", "")
	x.requireClosed(1)
}

func TestLoop_CountsEqualCallsInARow(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertLoop, Failures: 3, Calls: 5})
	for range 2 {
		x.end("make test", "exit status 2")
	}
	x.end("make test", "exit status 1") // another error
	x.end("make test", "exit status 2")
	require.Empty(t, x.read().Open)
	x.end("make test", "exit status 2")
	x.requireOpen("The same call ran 5 times in a row.")
	x.end("make test", "exit status 2")
	x.requireOpen("The same call ran 5 times in a row.") // one alert per session and rule
	x.end("ls", "")
	x.requireClosed(1)
	for range 3 {
		x.end("make test", "exit status 2")
	}
	x.requireOpen("The same call failed 3 times in a row with the same error.")
	x.post("s", "SessionEnd", `{}`)
	x.requireClosed(2)
	for range 3 {
		x.call = 0 // the model uses the same id in each turn
		x.post("s", "PreToolUse", `{}`)
		x.end("make test", "exit status 2")
	}
	x.requireOpen("The same call failed 3 times in a row with the same error.")
}

// The calls of others in between, such as those of the main agent, do not hide the loop of a subagent.
func TestLoop_CountsEachAgent(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertLoop, Failures: 3})
	for range 3 {
		x.post("s", "PostToolUseFailure", `{"agent_id":"a1","tool_name":"Bash","tool_input":{"command":"make"},"error":"exit status 2"}`)
		x.end("ls", "")
	}
	x.requireOpen("The same call failed 3 times in a row with the same error.")
	x.post("s", "SubagentStop", `{"agent_id":"a1"}`)
	x.requireClosed(1)
}

// A subagent that was killed reports no end. The other agents of its session go on.
func TestLoop_EndsWithKilledSubagent(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertLoop, Failures: 3})
	for range 3 {
		x.post("s", "PostToolUseFailure", `{"agent_id":"a1","tool_name":"Bash","tool_input":{"command":"make"},"error":"exit status 2"}`)
	}
	x.now = x.now.Add(9 * time.Minute)
	x.end("ls", "")
	x.requireOpen("The same call failed 3 times in a row with the same error.")
	x.now = x.now.Add(time.Minute)
	x.end("ls", "")
	x.requireClosed(1)
}

// Hostile names of agents end no loop but those of the agents that made no call for longest.
func TestLoop_RemembersNewestAgents(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertLoop, Failures: 3})
	for i := range 120 {
		x.now = x.now.Add(time.Millisecond)
		if i%40 == 0 {
			x.end("make", "exit status 2")
		} else if i%40 > 10 {
			x.post("s", "PostToolUse", fmt.Sprintf(`{"agent_id":"a%d","tool_name":"Read","tool_input":{"file_path":"a"}}`, i))
		}
	}
	x.requireOpen("The same call failed 3 times in a row with the same error.")
}

func TestStuck_TelemetryIsSignOfLife(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertStuck})
	x.post("s", "UserPromptSubmit", `{"prompt":"go"}`)
	x.now = x.now.Add(14 * time.Minute)
	x.post("s", "ApiRequest", `{"model":"opus","cost_usd":0.25}`)
	x.now = x.now.Add(14 * time.Minute)
	require.Empty(t, x.read().Open)
	x.now = x.now.Add(time.Minute)
	x.requireOpen("No event for 15 minutes in the middle of a turn.")
}

func TestSpend_SumsByApplicationPersonOrAll(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertSpend, USD: 10},
		control.AlertRule{Kind: control.AlertSpend, USD: 5, Per: control.PerApp, Minutes: 60},
		control.AlertRule{Kind: control.AlertSpend, USD: 4, Per: control.PerPerson},
		control.AlertRule{Kind: control.AlertSpend, USD: 1, SourceApp: "none"})
	x.now = time.UnixMilli(1_800_000_000_000)
	quarter := x.now.UnixMilli() / store.QuarterMS
	x.spend("a", map[int64]float64{quarter: 6})
	x.spend("b", map[int64]float64{quarter - 8: 4.5, quarter - 200: 50})
	list := x.read().Open
	var evidence []string
	for _, a := range list {
		evidence = append(evidence, a.Evidence)
	}
	require.ElementsMatch(t, []string{"All agents spent more than $10 in 24 hours.", "a spent more than $5 in one hour.", "ada spent more than $4 in 24 hours."}, evidence)
	x.now = x.now.Add(48 * time.Hour)
	x.requireClosed(3)
}

// spend stores the cost of a session of ada in that application, by quarter-hour.
func (x *fixture) spend(app string, costs map[int64]float64) {
	x.t.Helper()
	at := x.db.Head()
	id := x.post("s", "Stop", `{}`)
	batch := store.ProjectionBatch{
		From: at, To: x.db.Head(), Spend: map[store.SpendKey]store.Spend{},
		Sessions: []store.SessionRow{{App: app, Session: "s", Person: "ada", First: id, Last: id, Facts: []byte(`{}`)}},
	}
	for quarter, usd := range costs {
		batch.Spend[store.SpendKey{Session: id, Quarter: quarter, Model: "m"}] = store.Spend{Tokens: history.Tokens{Input: 1}, CostUSD: usd}
	}
	require.NoError(x.t, x.db.ApplyProjection(x.t.Context(), &batch))
}

func TestRules_AreValidated(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	for field, r := range map[string]control.AlertRule{
		"kind":       {Kind: "fire"},
		"minutes":    {Kind: control.AlertStuck, Minutes: -1},
		"percent":    {Kind: control.AlertErrors, Percent: 101},
		"calls":      {Kind: control.AlertErrors, Calls: 1e6},
		"failures":   {Kind: control.AlertLoop, Failures: 1},
		"usd":        {Kind: control.AlertSpend},
		"per":        {Kind: control.AlertSpend, USD: 1, Per: "session"},
		"source_app": {Kind: control.AlertLoop, SourceApp: string(make([]byte, 2000))},
	} {
		var invalid *schema.FieldError
		require.ErrorAs(t, x.Rules.Create(t.Context(), r, "ada"), &invalid, field)
		require.Equal(t, field, invalid.Field)
	}
	var invalid *schema.FieldError
	require.ErrorAs(t, x.Rules.Create(t.Context(), control.AlertRule{Kind: control.AlertStuck, USD: 3}, "ada"), &invalid)
	require.Equal(t, "usd", invalid.Field, "a member of another kind")
	require.Empty(t, x.Rules.List())
	for range control.MaxAlertRules {
		require.NoError(t, x.Rules.Create(t.Context(), control.AlertRule{Kind: control.AlertStuck}, "ada"))
	}
	require.ErrorIs(t, x.Rules.Create(t.Context(), control.AlertRule{Kind: control.AlertStuck}, "ada"), schema.ErrTooMany)
}

func TestRules_CloseTheirAlertsWhenTheyChange(t *testing.T) {
	t.Parallel()
	x := newFixture(t, control.AlertRule{Kind: control.AlertErrors, Calls: 2, Percent: 50})
	x.end("a", "exit status 1")
	x.end("b", "exit status 1")
	x.requireOpen("2 of the last 2 calls failed.")
	require.NoError(t, x.Rules.Replace(t.Context(), 1, control.AlertRule{Kind: control.AlertErrors, Calls: 3}, "ada"))
	x.requireClosed(1)
	require.ErrorIs(t, x.Rules.Replace(t.Context(), 9, control.AlertRule{Kind: control.AlertErrors}, "ada"), schema.ErrNotFound)
	x.end("c", "exit status 1")
	x.requireOpen("3 of the last 3 calls failed.")
	require.NoError(t, x.Rules.Remove(t.Context(), 1, "ada"))
	require.ErrorIs(t, x.Rules.Remove(t.Context(), 1, "ada"), schema.ErrNotFound)
	x.restart() // removed while the hub was stopped
	x.requireClosed(2)
	require.NoError(t, x.Rules.Create(t.Context(), control.AlertRule{Kind: control.AlertErrors, Calls: 3, SourceApp: "other"}, "ada"))
	require.Equal(t, int64(2), x.Rules.List()[0].ID, "ids are not used again")
	require.Empty(t, x.read().Open, "another application")
}

// TestFollower_ReadsEarlierEventsForNewRule: the follower ran without a rule after the events.
func TestFollower_ReadsEarlierEventsForNewRule(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.end("a", "exit status 1")
	x.end("b", "exit status 1")
	require.Empty(t, x.read().Open)
	require.NoError(t, x.Rules.Create(t.Context(), control.AlertRule{Kind: control.AlertErrors, Calls: 2}, "ada"))
	x.requireOpen("2 of the last 2 calls failed.")
}

func TestFollower_AnnouncesAlerts(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	ctx := t.Context()
	done := make(chan struct{})
	go func() { defer close(done); _ = x.Run(ctx) }()
	t.Cleanup(func() { <-done })
	x.end("a", "exit status 1")
	x.end("b", "exit status 1")
	require.NoError(t, x.Rules.Create(ctx, control.AlertRule{Kind: control.AlertErrors, Calls: 2}, "ada"))
	var opened []control.Alert
	lists := 0
	err := x.feed.Follow(ctx, feed.NewAlert|feed.Alerts, func(b *feed.Batch) error {
		for _, fact := range b.Facts {
			switch note := fact.Note.(type) {
			case control.Alert:
				opened = append(opened, note)
			case []control.Alert:
				if lists++; lists == 1 {
					require.NoError(t, x.Rules.Remove(ctx, 1, "ada"))
				} else {
					require.NotNil(t, note, "an empty list, as JSON")
					require.Empty(t, note)
				}
			}
		}
		if lists > 1 {
			return schema.ErrNotFound // ends the test's follower
		}
		return nil
	})
	require.ErrorIs(t, err, schema.ErrNotFound)
	require.Len(t, opened, 1)
	require.Equal(t, "2 of the last 2 calls failed.", opened[0].Evidence)
}
