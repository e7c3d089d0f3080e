package safety

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a follower and a hub over a new store.
type fixture struct {
	*Follower
	hub  *hub.Hub
	db   store.Store
	t    testing.TB
	call int
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	db := storetest.Open(t, storetest.Options{Fast: true})
	t.Cleanup(func() { _ = db.Close() })
	f := feed.New(0, 64, 1<<20)
	h := hub.New(hub.Config{Store: db, Feed: f})
	limits, err := OpenLimits(t.Context(), db, 0)
	require.NoError(t, err)
	x := &fixture{Follower: New(Config{Store: db, Live: live.New(db), Feed: f, Hub: h, Limits: limits}), hub: h, db: db, t: t}
	x.Live.OnFailure(x.count)
	x.set(control.SafetySettings{EqualFailures: 3})
	return x
}

func (x *fixture) set(s control.SafetySettings) {
	x.t.Helper()
	require.NoError(x.t, x.Limits.Set(x.t.Context(), s, "ada"))
}

// restart replaces the parts that keep state in memory.
func (x *fixture) restart() {
	x.t.Helper()
	var err error
	x.Limits, err = OpenLimits(x.t.Context(), x.db, 0)
	require.NoError(x.t, err)
	x.Live = live.New(x.db)
	x.Follower = New(x.Config)
	x.Live.OnFailure(x.count)
}

// end posts the end of a call of session s.
func (x *fixture) end(typ, command, members string) {
	x.t.Helper()
	x.call++
	x.post(typ, fmt.Sprintf(`{"tool_use_id":"t%d","tool_name":"Bash","tool_input":{"command":%q}%s}`, x.call, command, members))
}

func (x *fixture) fail() { x.end("PostToolUseFailure", "make test", `,"error":"exit status 2"`) }

func (x *fixture) post(typ, payload string) {
	x.t.Helper()
	_, err := x.hub.Ingest(x.t.Context(), fmt.Appendf(nil, `{"source_app":"a","session_id":"s","hook_event_type":%q,"payload":%s}`, typ, payload), hub.Caller{})
	require.NoError(x.t, err)
}

// freezes applies the rule to the whole log and returns the active freezes.
func (x *fixture) freezes() []control.Freeze {
	x.t.Helper()
	require.NoError(x.t, x.Step(x.t.Context()))
	return x.Store.ActiveFreezes()
}

func TestFollower_FreezesSessionAfterEqualFailures(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.fail()
	x.fail()
	require.Empty(t, x.freezes())
	x.fail()
	list := x.freezes()
	require.Len(t, list, 1)
	f := list[0]
	require.Equal(t, control.FreezeSession, f.Scope)
	require.Equal(t, [3]string{"a", "s", "Hookback"}, [3]string{f.SourceApp, f.SessionID, f.By})
	require.Equal(t, "Bash failed 3 times in a row with the same arguments and error.", f.Reason)
	require.Equal(t, "Hookback froze this session.", f.Notice().Text())
	require.Equal(t, control.RuleFailures, f.Rule)

	x.fail()
	x.fail()
	x.fail()
	require.Equal(t, list, x.freezes(), "one freeze at a time")
	_, err := x.hub.Unfreeze(t.Context(), f.ID, hub.Caller{})
	require.NoError(t, err)
	x.fail()
	x.fail()
	require.Empty(t, x.freezes(), "a lifted freeze counts anew")
	x.fail()
	require.Len(t, x.freezes(), 1)
}

func TestFollower_CountsOnlyEqualFailuresInARow(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(x *fixture){
		"a success":           func(x *fixture) { x.end("PostToolUse", "make test", "") },
		"another command":     func(x *fixture) { x.end("PostToolUseFailure", "ls", `,"error":"exit status 2"`) },
		"another error":       func(x *fixture) { x.end("PostToolUseFailure", "make test", `,"error":"exit status 1"`) },
		"another tool":        func(x *fixture) { x.post("PostToolUse", `{"tool_name":"Read","tool_input":{"file_path":"a"}}`) },
		"an interruption":     func(x *fixture) { x.end("PostToolUseFailure", "make test", `,"error":"stopped","is_interrupt":true`) },
		"unknown arguments":   func(x *fixture) { x.post("PostToolUseFailure", `{"tool_name":"Bash","error":"exit status 2"}`) },
		"the session's end":   func(x *fixture) { x.post("SessionEnd", `{}`) },
		"a report, repeated":  func(x *fixture) { x.call--; x.fail(); x.call--; x.fail() },
		"hostile JSON values": func(x *fixture) { x.post("PostToolUse", `{"tool_name":7,"tool_input":[],"error":{}}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newFixture(t)
			x.fail()
			x.fail()
			between(x)
			require.Empty(t, x.freezes())
		})
	}
	x := newFixture(t)
	for range 5 {
		x.post("PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"make test"}}`)
		x.fail()
		x.post("Notification", `{"message":"still here"}`)
	}
	require.Len(t, x.freezes(), 1, "other events are in between")

	x = newFixture(t)
	for range 3 {
		x.call = 0
		x.post("PreToolUse", `{"tool_use_id":"t1","tool_name":"Bash","tool_input":{"command":"make test"}}`)
		x.fail()
	}
	require.Len(t, x.freezes(), 1, "the model uses the same id in each turn")
}

// A new follower counts the failures before the restart, but freezes nothing for them: a person may
// have lifted that freeze.
func TestFollower_SurvivesRestart(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	for range 5 {
		x.fail()
	}
	x.restart()
	require.Empty(t, x.freezes())
	x.fail()
	require.Len(t, x.freezes(), 1, "the sixth equal failure")
}

// A new limit counts the failures before it, but freezes nothing for them.
func TestFollower_AppliesNewLimitAtOnce(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.fail()
	x.fail()
	require.Empty(t, x.freezes())
	x.set(control.SafetySettings{})
	x.fail()
	x.fail()
	require.Empty(t, x.freezes(), "the rule is off")
	x.set(control.SafetySettings{EqualFailures: 4})
	require.Empty(t, x.freezes(), "four failures before the limit")
	x.set(control.SafetySettings{EqualFailures: 5})
	x.fail()
	require.Len(t, x.freezes(), 1, "the fifth")
}

// brokenHub freezes nothing, because of its error.
type brokenHub struct{ err error }

func (b brokenHub) FreezeSession(context.Context, control.Freeze) error { return b.err }

func TestFollower_RetriesFreeze(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.Hub = brokenHub{errors.New("disk full")}
	for range 3 {
		x.fail()
	}
	require.ErrorContains(t, x.Step(t.Context()), "disk full")
	require.ErrorContains(t, x.Step(t.Context()), "disk full")
	x.Hub = x.hub
	require.Len(t, x.freezes(), 1)
}

// A hub with too many freezes logs each one that it lacks, and does not try it again.
func TestFollower_DropsFreezeBeyondLimit(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.Hub = brokenHub{schema.ErrTooMany}
	for range 3 {
		x.fail()
	}
	require.NoError(t, x.Step(t.Context()))
	require.Empty(t, x.due)
}

// A page that shows what agents do may read the failures first.
func TestFollower_FindsFailuresThatOthersRead(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	for range 3 {
		x.fail()
	}
	require.NoError(t, x.Live.Do(t.Context(), func() error { return nil }))
	require.Len(t, x.freezes(), 1)
}

func TestFollower_Run(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 3} {
		x := newFixture(t)
		x.set(control.SafetySettings{EqualFailures: limit})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- x.Run(ctx) }()
		for range 3 {
			x.fail()
		}
		// Failures before Run freeze nothing, and the three may be among them.
		for deadline := time.Now().Add(time.Minute); limit > 0 && len(x.Store.ActiveFreezes()) == 0; x.fail() {
			require.True(t, time.Now().Before(deadline), "no freeze")
		}
		stop()
		require.NoError(t, <-done)
		require.Equal(t, limit > 0, len(x.Store.ActiveFreezes()) > 0)
	}
}

func TestFollower_CleansTheReason(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	for i := range 3 {
		x.post("PostToolUseFailure", fmt.Sprintf(`{"tool_use_id":"t%d","tool_name":"Ba\nsh\u202e","tool_input":{"a":1},"error":"no"}`, i))
	}
	list := x.freezes()
	require.Len(t, list, 1)
	require.False(t, strings.ContainsAny(list[0].Reason, "\n\u202e"), list[0].Reason)
}
