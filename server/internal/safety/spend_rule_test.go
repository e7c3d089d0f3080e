package safety

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/sessions"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// spendFixture is a hub whose projections run.
type spendFixture struct {
	hub    *hub.Hub
	limits *Limits
	db     store.Store
	stop   func()
	t      testing.TB
	now    atomic.Int64 // Unix ms
	rule   *SpendRule
	probes atomic.Int64 // reports about the session of freezes
}

func newSpendFixture(t testing.TB) *spendFixture {
	t.Helper()
	db := storetest.Open(t, storetest.Options{Fast: true})
	x := &spendFixture{db: db, t: t}
	x.now.Store(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC).UnixMilli())
	x.start()
	t.Cleanup(func() { x.stop(); _ = db.Close() })
	x.set(control.SafetySettings{SpendUSD: 10, SpendMinutes: 60})
	return x
}

func (x *spendFixture) start() {
	x.t.Helper()
	clock := func() time.Time { return time.UnixMilli(x.now.Load()) }
	f := feed.New(x.db.Head(), 64, 1<<20)
	x.hub = hub.New(hub.Config{Store: x.db, Feed: f, Clock: clock})
	var err error
	x.limits, err = OpenLimits(x.t.Context(), x.db, 0)
	require.NoError(x.t, err)
	x.rule = &SpendRule{Store: x.db, Hub: x.hub, Limits: x.limits, Clock: clock, Log: slog.New(slog.DiscardHandler)}
	projections := sessions.New(sessions.Config{Store: x.db, Feed: f, Executions: x.hub, Clock: clock, Spending: x})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- projections.Run(ctx) }()
	x.stop = func() { stop(); require.NoError(x.t, <-done) }
}

func (x *spendFixture) set(s control.SafetySettings) {
	x.t.Helper()
	require.NoError(x.t, x.limits.Set(x.t.Context(), s, "ada"))
}

func (x *spendFixture) advance(d time.Duration) { x.now.Add(d.Milliseconds()) }

func (x *spendFixture) post(app, typ, payload string) {
	x.t.Helper()
	_, err := x.hub.Ingest(x.t.Context(), fmt.Appendf(nil, `{"source_app":%q,"session_id":"s","hook_event_type":%q,"payload":%s}`, app, typ, payload), hub.Caller{})
	require.NoError(x.t, err)
}

// spend posts a request to a model of this cost in USD.
func (x *spendFixture) spend(usd float64) {
	x.t.Helper()
	x.post("a", "ApiRequest", fmt.Sprintf(`{"model":"opus","usage":{"output_tokens":10},"cost_usd":%g}`, usd))
}

// SessionSpent counts the calls about probes.
func (x *spendFixture) SessionSpent(ctx context.Context, key store.SessionKey, session *digest.Session) {
	x.rule.SessionSpent(ctx, key, session)
	if key.App == "probe" {
		x.probes.Add(1)
	}
}

// freezes returns the active freezes once the rule was applied to all events. A batch of the log
// may report its sessions in any order, so a second probe follows in the next batch.
func (x *spendFixture) freezes() []control.Freeze {
	x.t.Helper()
	for range 2 {
		before := x.probes.Load()
		_, err := x.hub.Ingest(x.t.Context(), []byte(`{"source_app":"probe","session_id":"p","hook_event_type":"ApiRequest","payload":{"model":"opus","cost_usd":1}}`), hub.Caller{})
		require.NoError(x.t, err)
		require.Eventually(x.t, func() bool { return x.probes.Load() > before }, time.Minute, time.Millisecond)
	}
	return x.db.ActiveFreezes()
}

func (x *spendFixture) lift(f control.Freeze) {
	x.t.Helper()
	_, err := x.hub.Unfreeze(x.t.Context(), f.ID, hub.Caller{})
	require.NoError(x.t, err)
}

func TestSpendRule_FreezesOnceUntilSpentAgain(t *testing.T) {
	t.Parallel()
	x := newSpendFixture(t)
	x.post("a", "SessionStart", `{}`)
	x.spend(4)
	x.spend(6)
	require.Empty(t, x.freezes(), "not more than the limit")
	x.spend(2.4)
	list := x.freezes()
	require.Len(t, list, 1)
	require.Equal(t, "Spent $12.40 of $10 in one hour.", list[0].Reason)
	require.Equal(t, [3]string{"a", "s", "Hookback"}, [3]string{list[0].SourceApp, list[0].SessionID, list[0].By})
	require.Equal(t, control.RuleSpend, list[0].Rule)
	x.spend(1)
	require.Equal(t, list, x.freezes(), "one freeze at a time")

	x.lift(list[0])
	x.spend(0.5)
	require.Empty(t, x.freezes(), "a person accepted what was spent")
	x.stop()
	x.start()
	x.spend(0.5)
	require.Empty(t, x.freezes(), "also after a restart")
	x.spend(8.25)
	list = x.freezes()
	require.Len(t, list, 1)
	require.Equal(t, "Spent $10.25 of $10 in one hour.", list[0].Reason)
}

func TestSpendRule_CountsItsWindow(t *testing.T) {
	t.Parallel()
	x := newSpendFixture(t)
	x.post("a", "SessionStart", `{}`)
	for range 10 { // $6 in each hour
		x.spend(3)
		x.advance(30 * time.Minute)
		require.Empty(t, x.freezes())
	}
	x.set(control.SafetySettings{SpendUSD: 10, SpendMinutes: 240})
	require.Empty(t, x.freezes(), "applied when the session spends")
	x.spend(0.01)
	list := x.freezes()
	require.Len(t, list, 1)
	require.Equal(t, "Spent $24.01 of $10 in 4 hours.", list[0].Reason)
}

func TestSpendRule_SurvivesRestartBeforeTheFreeze(t *testing.T) {
	t.Parallel()
	x := newSpendFixture(t)
	x.post("a", "SessionStart", `{}`)
	x.spend(7)
	require.Empty(t, x.freezes())
	x.stop()
	x.spend(7) // stored, not projected
	x.start()
	require.Len(t, x.freezes(), 1)
}

func TestSpendRule_FreezesNothing(t *testing.T) {
	t.Parallel()
	for name, events := range map[string]func(x *spendFixture){
		"off": func(x *spendFixture) {
			x.post("a", "SessionStart", `{}`)
			x.set(control.SafetySettings{EqualFailures: 5})
			x.spend(100)
		},
		"no hooks": func(x *spendFixture) { x.spend(100) },
		"an ended session": func(x *spendFixture) {
			x.post("a", "SessionEnd", `{}`)
			x.spend(100)
		},
		"a total of earlier work": func(x *spendFixture) {
			x.post("a", "SessionStart", `{}`)
			x.post("a", "StatusLine", `{"cost":{"total_cost_usd":50}}`)
			x.post("a", "StatusLine", `{"cost":{"total_cost_usd":51}}`)
		},
		"a total that falls and rises": func(x *spendFixture) {
			x.post("a", "SessionStart", `{}`)
			for range 5 {
				x.post("a", "StatusLine", `{"cost":{"total_cost_usd":1}}`)
				x.post("a", "StatusLine", `{"cost":{"total_cost_usd":5}}`)
			}
		},
		"metrics of earlier work": func(x *spendFixture) {
			x.post("a", "SessionStart", `{}`)
			x.post("a", "ApiUsage", `{"series":[{"model":"opus","usage":{"input_tokens":9},"cost_usd":50,"total":"t1"}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newSpendFixture(t)
			events(x)
			require.Empty(t, x.freezes())
		})
	}
}

// Telemetry has another application name than the hooks of the same session. The freeze is of the
// session that the hooks ask about.
func TestSpendRule_FreezesTheSessionOfTheHooks(t *testing.T) {
	t.Parallel()
	x := newSpendFixture(t)
	x.post("a", "SessionStart", `{}`)
	x.post("claude-code", "ApiRequest", `{"model":"opus","cost_usd":11}`)
	list := x.freezes()
	require.Len(t, list, 1)
	require.Equal(t, "a", list[0].SourceApp)
}

// A person froze and lifted: that accepted no spending of the rule.
func TestSpendRule_FreezesAfterFreezeOfPersonIsLifted(t *testing.T) {
	t.Parallel()
	x := newSpendFixture(t)
	x.post("a", "SessionStart", `{}`)
	all, _, err := x.hub.Freeze(t.Context(), &control.FreezeDraft{Scope: control.FreezeAll}, hub.Caller{})
	require.NoError(t, err)
	x.spend(11)
	require.Equal(t, []control.Freeze{all}, x.freezes())
	x.lift(all)
	x.spend(1)
	require.Len(t, x.freezes(), 1)
}

func TestSpendRule_NamesItsWindow(t *testing.T) {
	t.Parallel()
	for minutes, want := range map[int]string{15: "15 minutes", 60: "one hour", 90: "90 minutes", 1440: "24 hours"} {
		require.Equal(t, want, control.Minutes(minutes))
	}
	require.Equal(t, "$0.50", control.Dollars(0.5))
}
