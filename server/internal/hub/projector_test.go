package hub

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/digest"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// catchUp takes the whole log.
func (b *bench) catchUp(f *projector) {
	b.t.Helper()
	for range 10_000 {
		more, err := f.step(b.t.Context())
		require.NoError(b.t, err)
		if !more {
			return
		}
	}
	b.t.Fatal("the log has no end")
}

func (b *bench) follower() *projector { return &projector{hub: b.Hub, cursor: -1} }

// figures is everything that is derived.
type figures struct {
	Sessions  map[store.SessionKey]schema.Session
	Tools     map[string]map[store.ToolKey]store.ToolTime // :: session id → its tools
	Decisions map[store.Decision]int64
	Activity  map[int64]map[string]store.Activity // :: from this quarter on → by application
	Times     map[int64]map[store.ToolKey]store.ToolTime
}

// since are the quarters that figures are asked from.
func since(from, to int64) []int64 {
	return []int64{0, from, from + 1, from + 50, from + 96, (from/96 + 1) * 96, to - 1, to, to + 1}
}

// derived reads what the tables say.
func (b *bench) derived(quarters []int64) figures {
	b.t.Helper()
	ctx := b.t.Context()
	got := figures{
		Sessions: map[store.SessionKey]schema.Session{}, Tools: map[string]map[store.ToolKey]store.ToolTime{},
		Activity: map[int64]map[string]store.Activity{}, Times: map[int64]map[store.ToolKey]store.ToolTime{},
	}
	for cursor := schema.EventID(0); ; {
		facts, next, err := b.Store.Sessions(ctx, store.SessionFilter{Before: cursor, Limit: 3})
		require.NoError(b.t, err)
		for _, raw := range facts {
			var s digest.Session
			require.NoError(b.t, json.Unmarshal(raw, &s))
			got.Sessions[store.SessionKey{App: s.Sum.SourceApp, Session: s.Sum.SessionID}] = s.Sum
			tools, err := b.Store.SessionTools(ctx, s.Sum.FirstID)
			require.NoError(b.t, err)
			got.Tools[s.Sum.SourceApp+s.Sum.SessionID] = tools
		}
		if cursor = next; next == 0 {
			break
		}
	}
	var err error
	got.Decisions, err = b.Store.Decisions(ctx, 0, 1<<40)
	require.NoError(b.t, err)
	for _, from := range quarters {
		got.Activity[from], err = b.Store.Activity(ctx, from)
		require.NoError(b.t, err)
		got.Times[from], err = b.Store.ToolTimes(ctx, from)
		require.NoError(b.t, err)
	}
	return got
}

// recomputed is the same, summed up from all of the log in one go, in memory.
func (b *bench) recomputed(quarters []int64) figures {
	b.t.Helper()
	want := figures{
		Sessions: map[store.SessionKey]schema.Session{}, Tools: map[string]map[store.ToolKey]store.ToolTime{},
		Decisions: map[store.Decision]int64{},
		Activity:  map[int64]map[string]store.Activity{}, Times: map[int64]map[store.ToolKey]store.ToolTime{},
	}
	for _, from := range quarters {
		want.Activity[from], want.Times[from] = map[string]store.Activity{}, map[store.ToolKey]store.ToolTime{}
	}
	act := func(at int64, app string, a store.Activity) {
		for _, from := range quarters {
			if at/store.QuarterMS >= from {
				want.Activity[from][app] = a.Add(want.Activity[from][app])
			}
		}
	}
	sessions := map[store.SessionKey]*digest.Session{}
	for seq := int64(0); seq < b.Store.Head(); {
		rows, err := b.Store.After(b.t.Context(), seq, 1000)
		require.NoError(b.t, err)
		for _, row := range rows {
			seq = row.Seq
			e := row.Event
			if row.Change && !row.Ends {
				continue
			}
			key := store.SessionKey{App: e.App, Session: e.Session}
			if sessions[key] == nil {
				sessions[key] = &digest.Session{}
				want.Tools[e.App+e.Session] = map[store.ToolKey]store.ToolTime{}
			}
			f := digest.Parse(&digest.Event{
				ID: e.ID, At: e.ReceivedAt.UnixMilli(), App: e.App, Session: e.Session, Type: e.Type, Tool: e.Tool,
				Envelope: e.Envelope, Payload: e.Payload, Question: e.Question,
			})
			if row.Change {
				var st schema.Status
				require.NoError(b.t, json.Unmarshal(e.Status, &st))
				waited := sessions[key].ResolveQuestion(f, int64(st.RespondedAt))
				want.Decisions[store.Decision{
					Quarter: int64(st.RespondedAt) / store.QuarterMS, App: e.App, Outcome: outcomes[st.Outcome],
					Person: st.Source == schema.ByHuman, Bin: digest.Bucket(waited),
				}]++
				act(int64(st.RespondedAt), e.App, store.Activity{WaitedMS: waited})
				continue
			}
			want.event(sessions[key], f, act)
		}
	}
	for key, s := range sessions {
		want.Sessions[key] = s.Sum
	}
	return want
}

var outcomes = map[schema.Outcome]string{
	schema.Approve: "approved", schema.Deny: "denied", schema.Answered: "answered", "left": "answered",
	schema.Timeout: "timeout", schema.Cancelled: "cancelled", schema.Withdrawn: "cancelled",
}

func (w *figures) event(s *digest.Session, f *digest.EventFacts, act func(int64, string, store.Activity)) {
	step := s.Add(f)
	a := store.Activity{Events: 1, Tokens: step.Tokens, CostUSD: step.Cost}
	if f.HasQuestion {
		a.Questions = 1
	}
	if step.Failed {
		a.Failures = 1
	}
	if use := step.Ended; use != nil {
		a.Tools = 1
		one := store.ToolTime{Calls: 1, TotalMS: max(0, use.MS)}
		if use.Failed {
			one.Failures = 1
		}
		key := store.ToolKey{Tool: use.Tool, Bin: -1}
		if use.MS >= 0 {
			key.Bin = digest.Bucket(use.MS)
		}
		addTime(w.Tools[f.App+f.Session], key, one)
		for from := range w.Times {
			if f.At/store.QuarterMS >= from {
				addTime(w.Times[from], key, one)
			}
		}
	}
	act(f.At, f.App, a)
}

func addTime(to map[store.ToolKey]store.ToolTime, key store.ToolKey, one store.ToolTime) {
	sum := to[key]
	to[key] = store.ToolTime{Calls: sum.Calls + one.Calls, Failures: sum.Failures + one.Failures, TotalMS: sum.TotalMS + one.TotalMS}
}

// requireSame compares sums of money within what adding them up in another order
// makes of them.
func requireSame(t *testing.T, want, got figures) {
	t.Helper()
	for _, f := range []figures{want, got} {
		for _, apps := range f.Activity {
			for app, a := range apps {
				a.CostUSD = float64(int64(a.CostUSD*1e6+0.5)) / 1e6
				apps[app] = a
			}
		}
	}
	require.Equal(t, want, got)
}

// chaos makes a log at random: several agents, calls, questions and their ends.
type chaos struct {
	*bench
	rnd  *rand.Rand
	now  *time.Time
	open []schema.EventID
}

func (c *chaos) pick(of ...string) string { return of[c.rnd.IntN(len(of))] }

func (c *chaos) event(question string) {
	members := []string{
		fmt.Sprintf(`"source_app":%q`, c.pick("one", "two", "three")), fmt.Sprintf(`"session_id":%q`, c.pick("a", "b", "c", "d")),
		fmt.Sprintf(`"hook_event_type":%q`, c.pick("PreToolUse", "PreToolUse", "PostToolUse", "PostToolUse", "PostToolUseFailure",
			"UserPromptSubmit", "Stop", "Notification", "SessionStart", "SessionEnd", "token_count")),
		fmt.Sprintf(`"tool_name":%q`, c.pick("Bash", "Read", "Edit")),
		fmt.Sprintf(`"payload":{"prompt":"p%d","total_cost_usd":%d,"usage":{"input_tokens":%d},"duration_ms":%d}`, c.rnd.IntN(9), c.rnd.IntN(4), c.rnd.IntN(9), c.rnd.IntN(900)),
	}
	if c.rnd.IntN(2) == 0 {
		members = append(members, fmt.Sprintf(`"tool_use_id":"u%d"`, c.rnd.IntN(12)))
	}
	if c.rnd.IntN(4) == 0 {
		members = append(members, fmt.Sprintf(`"agent_id":"g%d"`, c.rnd.IntN(4)))
	}
	if question != "" {
		members = append(members, `"humanInTheLoop":`+question)
	}
	saved := c.post("{" + strings.Join(members, ",") + "}")
	c.ResponseSent(saved.ID)
	if question != "" {
		c.open = append(c.open, saved.ID)
	}
}

// settle ends one of the open questions somehow, if it is not settled by now.
func (c *chaos) settle() {
	if len(c.open) == 0 {
		return
	}
	i := c.rnd.IntN(len(c.open))
	id := c.open[i]
	c.open = append(c.open[:i], c.open[i+1:]...)
	text, choice := "fine", "left"
	for _, r := range []*schema.Response{yes(), no(), {Response: &text}, {Choice: &choice}} {
		if c.rnd.IntN(3) > 0 {
			_, _ = c.Respond(c.t.Context(), id, r, Caller{}) // most do not fit the kind
		}
	}
	_, _ = c.Cancel(c.t.Context(), id, schema.Cancel{}, Caller{})
}

func (c *chaos) something() {
	switch c.rnd.IntN(10) {
	case 0:
		c.event(c.pick(pullOne, `{"question":"q","type":"question"}`, `{"question":"q","type":"choice","choices":["left","right"]}`))
	case 1:
		c.settle()
	case 2:
		*c.now = c.now.Add(time.Duration(c.rnd.Int64N(int64(40 * time.Minute))))
	default:
		*c.now = c.now.Add(time.Duration(c.rnd.Int64N(int64(20 * time.Second))))
		c.event("")
	}
}

// TestDerivedIsARecomputation: however events, steps of the follower and restarts
// take turns, the tables are what the whole log says.
func TestDerivedIsARecomputation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		now := began
		c := &chaos{
			bench: setup(t, func(cfg *Config) { cfg.Clock = func() time.Time { return now } }),
			rnd:   rand.New(rand.NewPCG(seed, 1)), now: &now,
		}
		f := c.follower()
		for range 250 {
			c.something()
			switch c.rnd.IntN(30) {
			case 0, 1, 2, 3:
				_, err := f.step(t.Context())
				require.NoError(t, err)
			case 4:
				f = c.follower() // forgets all that is not stored
			case 5:
				require.NoError(t, c.Store.Close())
				c.bench = open(t, c.path, func(cfg *Config) { cfg.Clock = func() time.Time { return now } })
				f = c.follower()
			}
		}
		c.catchUp(f)
		quarters := since(began.UnixMilli()/store.QuarterMS, now.UnixMilli()/store.QuarterMS)
		want := c.recomputed(quarters)
		require.Greater(t, len(want.Sessions), 8)
		require.Greater(t, len(want.Decisions), 5)
		requireSame(t, want, c.derived(quarters))
		c.requireExecutions()
	}
}

var began = time.Date(2026, 10, 24, 22, 10, 0, 0, time.UTC)

// requireExecutions: every permission whose call was heard of says so, once.
func (b *bench) requireExecutions() {
	b.t.Helper()
	told := map[schema.EventID]int{}
	for seq := int64(0); seq < b.Store.Head(); {
		rows, err := b.Store.After(b.t.Context(), seq, 1000)
		require.NoError(b.t, err)
		for _, row := range rows {
			seq = row.Seq
			if row.Change && strings.Contains(string(row.Event.Status), `"execution":`) {
				told[row.Event.ID]++
			}
		}
	}
	for id := range told {
		st := b.status(id)
		require.NotNil(b.t, st.Execution)
		require.Greater(b.t, st.Execution.EventID, id)
	}
	all, err := b.Store.Find(b.t.Context(), store.Filter{Limit: 1000, Oldest: true})
	require.NoError(b.t, err)
	n := 0
	for _, e := range all {
		if e.Question != nil && b.status(e.ID).Execution != nil {
			n++
		}
	}
	require.Equal(b.t, len(told), n)
}

// TestDerivingIsRefusedToTwo: of two followers one loses, and nothing is added
// twice.
func TestDerivingIsRefusedToTwo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.follower(), b.follower()
	b.post(plain)
	_, err := one.step(t.Context())
	require.NoError(t, err)
	two.cursor = 0 // as it was when both began
	_, err = two.step(t.Context())
	require.ErrorIs(t, err, store.ErrConflict)
	b.post(plain)
	b.catchUp(two)
	_, err = one.step(t.Context())
	require.ErrorIs(t, err, store.ErrConflict)
	b.catchUp(one)
	quarters := []int64{0}
	requireSame(t, b.recomputed(quarters), b.derived(quarters))
}

// TestChangesThatSayNothingAreSteppedOver: the cursor is not written for each.
func TestChangesThatSayNothingAreSteppedOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follower()
	id, _ := b.ask(mayI)
	b.catchUp(f)
	require.EqualValues(t, 1, f.cursor)
	for range 3 {
		require.NoError(t, b.shiftDeadline(t.Context(), id, time.Hour))
	}
	b.catchUp(f)
	require.EqualValues(t, 1, f.cursor)
	require.EqualValues(t, 4, f.at)
	b.post(plain)
	b.catchUp(f)
	cursor, err := b.Store.Cursor(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, cursor)
}

// TestDeriveFollowsAndStops: the owner ends it, and what came meanwhile is told.
func TestDeriveFollowsAndStops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.RunProjector(ctx) }()
		b.post(plain)
		require.Eventually(t, func() bool {
			page, err := b.Sessions(t.Context(), store.SessionFilter{Limit: 1})
			return err == nil && len(page.Sessions) == 1 && page.Sessions[0].Events == int64(round+1)
		}, 10*time.Second, time.Millisecond)
		cancel()
		require.NoError(t, <-done)
	}
}

// TestAStepThatFails leaves the follower as it was.
func TestAStepThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.post(plain)
	f := b.follower()
	require.NoError(t, b.Store.Close())
	_, err := f.step(t.Context())
	require.Error(t, err)
	require.EqualValues(t, -1, f.cursor, "it is read again")
}

// TestExecutionSurvivesACrash: the status is written before the cursor; a crash in
// between tells it again, which changes nothing.
func TestExecutionSurvivesACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := b.post(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{},"tool_use_id":"u1","humanInTheLoop":` + pullOne + `}`)
	b.ResponseSent(saved.ID)
	_, err := b.Respond(t.Context(), saved.ID, yes(), Caller{})
	require.NoError(t, err)
	b.catchUp(b.follower())
	ended := b.post(`{"source_app":"a","session_id":"s","hook_event_type":"PostToolUseFailure","payload":{"error":"exit 1"},"tool_use_id":"u1"}`)
	b.post(`{"source_app":"a","session_id":"other","hook_event_type":"PostToolUse","payload":{},"tool_use_id":"u1"}`)
	ran := digest.ExecutionOutcome{Question: saved.ID, At: time.Now().UnixMilli() + 5000, Execution: schema.Execution{State: schema.ToolFailed, Error: "exit 1", EventID: ended.ID}}
	require.NoError(t, b.setExecution(t.Context(), &ran))
	head, before := b.Store.Head(), b.status(saved.ID)
	b.catchUp(b.follower())
	require.Equal(t, head, b.Store.Head(), "nothing was told again")
	st := b.status(saved.ID)
	require.Equal(t, before, st)
	require.Equal(t, schema.Responded, st.Status)
	require.Equal(t, schema.ToolFailed, st.Execution.State)
	require.Equal(t, "exit 1", st.Execution.Error)
	require.InDelta(t, 5000, st.Execution.DurationMS, 5000)
	require.Positive(t, st.Execution.DurationMS)
	require.Equal(t, int64(3), st.Revision)

	ran.Question = 99
	require.NoError(t, b.setExecution(t.Context(), &ran), "retention took the question")
}

// TestExecutionOnTheStreams: a status frame for version 2, nothing for version 1.
func TestExecutionOnTheStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved := b.post(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{"tool_use_id":"u1"},"humanInTheLoop":` + pullOne + `}`)
	b.ResponseSent(saved.ID)
	b.post(`{"source_app":"a","session_id":"s","hook_event_type":"PostToolUse","payload":{"tool_use_id":"u1"}}`)
	seq := b.Store.Head()
	b.catchUp(b.follower())
	frames, _, err := b.FramesAfter(t.Context(), seq)
	require.NoError(t, err)
	require.Len(t, frames, 1)
	require.True(t, frames[0].Status)
	require.Nil(t, frames[0].End, "version 1 streams get what ends a question only")
	require.Contains(t, string(frames[0].Data), `"execution":{"state":"succeeded","eventId":2}`)
	require.Equal(t, schema.Pending, b.status(saved.ID).Status, "it ran although nobody had answered here")
}

const deriveCrashFile = "HOOKBACK_DERIVE_CRASH_TEST"

// crashed runs the child of TestKilledFollower, which posts, answers and derives
// until it is killed.
func crashed() bool {
	file := os.Getenv(deriveCrashFile)
	if file == "" {
		return false
	}
	db, err := store.Open(context.Background(), store.Config{Path: file, ReserveFileBytes: -1})
	if err != nil {
		fmt.Println("error", err)
		return true
	}
	h := New(Config{Store: db, Feed: feed.New(db.Head(), 64, 1<<20)})
	go func() { fmt.Println("error", h.RunProjector(context.Background())) }()
	rnd := rand.New(rand.NewPCG(uint64(db.Head()), 7))
	for {
		use := rnd.IntN(1000)
		asked, err := h.Ingest(context.Background(), fmt.Appendf(nil, `{"source_app":"a","session_id":"s%d","hook_event_type":"PermissionRequest","payload":{},"tool_use_id":"u%d","humanInTheLoop":%s}`, use%5, use, pullOne), Caller{})
		if err == nil {
			h.ResponseSent(asked.ID)
			_, err = h.Respond(context.Background(), asked.ID, yes(), Caller{})
		}
		if err == nil {
			_, err = h.Ingest(context.Background(), fmt.Appendf(nil, `{"source_app":"a","session_id":"s%d","hook_event_type":"PostToolUse","payload":{},"tool_name":"Bash","tool_use_id":"u%d"}`, use%5, use), Caller{})
		}
		if err != nil {
			fmt.Println("error", err)
			return true
		}
		fmt.Println("asked", asked.ID)
	}
}

// TestKilledFollower: after kill -9 at any moment the follower goes on exactly
// where it was. Alone: until it runs, a child holds its parent's locks, and other
// tests open their databases again.
func TestKilledFollower(t *testing.T) {
	file := t.TempDir() + "/hub.db"
	for round := range 4 {
		child := exec.Command(os.Args[0], "-test.run=^$")
		child.Env = append(os.Environ(), deriveCrashFile+"="+file)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		t.Cleanup(func() { _ = child.Process.Kill() })
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			require.NotContains(t, lines.Text(), "error")
			if n == 20+13*round {
				require.NoError(t, child.Process.Kill())
			}
		}
		_ = child.Wait() // killed

		b := open(t, file)
		cursor, err := b.Store.Cursor(t.Context())
		require.NoError(t, err)
		require.Positive(t, cursor, "it had begun")
		b.catchUp(b.follower())
		quarters := []int64{0}
		requireSame(t, b.recomputed(quarters), b.derived(quarters))
		b.requireExecutions()
		require.NoError(t, b.Store.Close())
	}
}
