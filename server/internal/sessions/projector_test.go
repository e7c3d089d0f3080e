package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// catchUp runs the projector until it has read the whole log.
func (h *testHub) catchUp(f *projector) {
	h.t.Helper()
	for range 10_000 {
		more, err := f.step(h.t.Context())
		require.NoError(h.t, err)
		if !more {
			return
		}
	}
	h.t.Fatal("the projector does not reach the end of the log")
}

func (h *testHub) newProjector() *projector { return &projector{Service: h.Service, cursor: -1} }

// projectedTables has the content of all projection tables.
type projectedTables struct {
	Sessions  map[store.SessionKey]history.Session
	Tools     map[string]map[store.ToolKey]store.ToolTime // app and session id -> tools
	Decisions map[store.Decision]int64
	Activity  map[int64]map[string]store.Activity // first quarter hour -> app
	ToolTimes map[int64]map[store.ToolKey]store.ToolTime
}

// queryQuarters returns the first quarter hours to query for a log that spans from..to.
func queryQuarters(from, to int64) []int64 {
	return []int64{0, from, from + 1, from + 50, from + 96, (from/96 + 1) * 96, to - 1, to, to + 1}
}

// readProjections reads the projection tables, with the sums from each of the quarters on.
func (h *testHub) readProjections(quarters []int64) projectedTables {
	h.t.Helper()
	ctx := h.t.Context()
	got := projectedTables{
		Sessions: map[store.SessionKey]history.Session{}, Tools: map[string]map[store.ToolKey]store.ToolTime{},
		Activity: map[int64]map[string]store.Activity{}, ToolTimes: map[int64]map[store.ToolKey]store.ToolTime{},
	}
	for cursor := int64(0); ; {
		facts, next, err := h.Store.Sessions(ctx, store.SessionFilter{Before: cursor, Limit: 3})
		require.NoError(h.t, err)
		for _, raw := range facts {
			var s digest.Session
			require.NoError(h.t, json.Unmarshal(raw, &s))
			got.Sessions[store.SessionKey{App: s.Sum.SourceApp, Session: s.Sum.SessionID}] = s.Sum
			tools, err := h.Store.SessionTools(ctx, s.Sum.FirstID)
			require.NoError(h.t, err)
			got.Tools[s.Sum.SourceApp+s.Sum.SessionID] = tools
		}
		if cursor = next; next == 0 {
			break
		}
	}
	var err error
	got.Decisions, err = h.Store.Decisions(ctx, 0, 1<<40)
	require.NoError(h.t, err)
	for _, from := range quarters {
		got.Activity[from], err = h.Store.Activity(ctx, from)
		require.NoError(h.t, err)
		got.ToolTimes[from], err = h.Store.ToolTimes(ctx, from)
		require.NoError(h.t, err)
	}
	return got
}

// recomputeProjections computes the same tables in memory from the whole log.
func (h *testHub) recomputeProjections(quarters []int64) projectedTables {
	h.t.Helper()
	want := projectedTables{
		Sessions: map[store.SessionKey]history.Session{}, Tools: map[string]map[store.ToolKey]store.ToolTime{},
		Decisions: map[store.Decision]int64{},
		Activity:  map[int64]map[string]store.Activity{}, ToolTimes: map[int64]map[store.ToolKey]store.ToolTime{},
	}
	for _, from := range quarters {
		want.Activity[from], want.ToolTimes[from] = map[string]store.Activity{}, map[store.ToolKey]store.ToolTime{}
	}
	act := func(at int64, app string, a store.Activity) {
		for _, from := range quarters {
			if at/store.QuarterMS >= from {
				want.Activity[from][app] = a.Add(want.Activity[from][app])
			}
		}
	}
	sessions := map[store.SessionKey]*digest.Session{}
	for seq := int64(0); seq < h.Store.Head(); {
		rows, err := h.Store.After(h.t.Context(), seq, 1000)
		require.NoError(h.t, err)
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
				require.NoError(h.t, json.Unmarshal(e.Status, &st))
				outcome := outcomeClasses[st.Outcome]
				if st.Source == schema.BySessionEnd || st.Source == schema.ByOrphaned {
					outcome = "gone"
				}
				waited, blocked := sessions[key].ResolveQuestion(f, int64(st.RespondedAt))
				want.Decisions[store.Decision{
					Quarter: int64(st.RespondedAt) / store.QuarterMS, App: e.App, Outcome: outcome,
					Person: st.Source == schema.ByHuman, Bucket: digest.Bucket(waited),
				}]++
				act(int64(st.RespondedAt), e.App, store.Activity{WaitedMS: blocked})
				continue
			}
			want.addEvent(sessions[key], f, act)
		}
	}
	for key, s := range sessions {
		want.Sessions[key] = s.Sum
	}
	return want
}

var outcomeClasses = map[schema.Outcome]string{
	schema.Approve: "approved", schema.Deny: "denied", schema.Answered: "answered", "left": "answered",
	schema.Timeout: "timeout", schema.Cancelled: "cancelled", schema.Withdrawn: "cancelled",
}

func (w *projectedTables) addEvent(s *digest.Session, f *digest.EventFacts, act func(int64, string, store.Activity)) {
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
		key := store.ToolKey{Tool: use.Tool, Bucket: -1}
		if use.MS >= 0 {
			key.Bucket = digest.Bucket(use.MS)
		}
		addToolTime(w.Tools[f.App+f.Session], key, one)
		for from := range w.ToolTimes {
			if f.At/store.QuarterMS >= from {
				addToolTime(w.ToolTimes[from], key, one)
			}
		}
	}
	act(f.At, f.App, a)
}

func addToolTime(to map[store.ToolKey]store.ToolTime, key store.ToolKey, one store.ToolTime) {
	sum := to[key]
	to[key] = store.ToolTime{Calls: sum.Calls + one.Calls, Failures: sum.Failures + one.Failures, TotalMS: sum.TotalMS + one.TotalMS}
}

// requireSameProjections compares two sets of tables. It rounds sums of money, because
// floating-point addition depends on the order.
func requireSameProjections(t *testing.T, want, got projectedTables) {
	t.Helper()
	for _, f := range []projectedTables{want, got} {
		for _, apps := range f.Activity {
			for app, a := range apps {
				a.CostUSD = float64(int64(a.CostUSD*1e6+0.5)) / 1e6
				apps[app] = a
			}
		}
	}
	require.Equal(t, want, got)
}

// randomLog fills a hub with random events: several agents, calls, questions and answers.
type randomLog struct {
	*testHub
	rng  *rand.Rand
	now  *time.Time
	open []schema.EventID
}

func (c *randomLog) pick(of ...string) string { return of[c.rng.IntN(len(of))] }

func (c *randomLog) postEvent(question string) {
	members := []string{
		fmt.Sprintf(`"source_app":%q`, c.pick("one", "two", "three")), fmt.Sprintf(`"session_id":%q`, c.pick("a", "b", "c", "d")),
		fmt.Sprintf(`"hook_event_type":%q`, c.pick("PreToolUse", "PreToolUse", "PostToolUse", "PostToolUse", "PostToolUseFailure",
			"UserPromptSubmit", "Stop", "Notification", "SessionStart", "SessionEnd", "token_count")),
		fmt.Sprintf(`"tool_name":%q`, c.pick("Bash", "Read", "Edit")),
		fmt.Sprintf(`"payload":{"prompt":"p%d","total_cost_usd":%d,"usage":{"input_tokens":%d},"duration_ms":%d}`, c.rng.IntN(9), c.rng.IntN(4), c.rng.IntN(9), c.rng.IntN(900)),
	}
	if c.rng.IntN(2) == 0 {
		members = append(members, fmt.Sprintf(`"tool_use_id":"u%d"`, c.rng.IntN(12)))
	}
	if c.rng.IntN(4) == 0 {
		members = append(members, fmt.Sprintf(`"agent_id":"g%d"`, c.rng.IntN(4)))
	}
	if question != "" {
		members = append(members, `"humanInTheLoop":`+question)
	}
	saved := c.post("{" + strings.Join(members, ",") + "}")
	c.hub.ResponseSent(saved.ID)
	if question != "" {
		c.open = append(c.open, saved.ID)
	}
}

// resolveOne answers or cancels a random open question.
func (c *randomLog) resolveOne() {
	if len(c.open) == 0 {
		return
	}
	i := c.rng.IntN(len(c.open))
	id := c.open[i]
	c.open = append(c.open[:i], c.open[i+1:]...)
	text, choice := "fine", "left"
	for _, r := range []*schema.Response{approval(), denial(), {Response: &text}, {Choice: &choice}} {
		if c.rng.IntN(3) > 0 {
			_, _ = c.hub.Respond(c.t.Context(), id, r, hub.Caller{}) // most do not match the type of the question
		}
	}
	_, _ = c.hub.Cancel(c.t.Context(), id, schema.Cancel{}, hub.Caller{})
}

func (c *randomLog) step() {
	switch c.rng.IntN(10) {
	case 0:
		c.postEvent(c.pick(pullQuestion, `{"question":"q","type":"question"}`, `{"question":"q","type":"choice","choices":["left","right"]}`))
	case 1:
		c.resolveOne()
	case 2:
		*c.now = c.now.Add(time.Duration(c.rng.Int64N(int64(40 * time.Minute))))
	default:
		*c.now = c.now.Add(time.Duration(c.rng.Int64N(int64(20 * time.Second))))
		c.postEvent("")
	}
}

// TestProjector_MatchesRecomputation: for any interleaving of events, projector steps and
// restarts, the tables equal a recomputation from the whole log.
func TestProjector_MatchesRecomputation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		now := randomLogStart
		c := &randomLog{
			testHub: newTestHub(t, func(cfg *Config) { cfg.Clock = func() time.Time { return now } }),
			rng:     rand.New(rand.NewPCG(seed, 1)), now: &now,
		}
		f := c.newProjector()
		for range 250 {
			c.step()
			switch c.rng.IntN(30) {
			case 0, 1, 2, 3:
				_, err := f.step(t.Context())
				require.NoError(t, err)
			case 4:
				f = c.newProjector() // loses its state in memory
			case 5:
				require.NoError(t, c.Store.Close())
				c.testHub = openTestHub(t, c.path, func(cfg *Config) { cfg.Clock = func() time.Time { return now } })
				f = c.newProjector()
			}
		}
		c.catchUp(f)
		quarters := queryQuarters(randomLogStart.UnixMilli()/store.QuarterMS, now.UnixMilli()/store.QuarterMS)
		want := c.recomputeProjections(quarters)
		require.Greater(t, len(want.Sessions), 8)
		require.Greater(t, len(want.Decisions), 5)
		requireSameProjections(t, want, c.readProjections(quarters))
		c.requireExecutions()
	}
}

var randomLogStart = time.Date(2026, 10, 24, 22, 10, 0, 0, time.UTC)

// requireExecutions checks that exactly the questions with an execution in the log have one
// in their status.
func (h *testHub) requireExecutions() {
	h.t.Helper()
	told := map[schema.EventID]int{}
	for seq := int64(0); seq < h.Store.Head(); {
		rows, err := h.Store.After(h.t.Context(), seq, 1000)
		require.NoError(h.t, err)
		for _, row := range rows {
			seq = row.Seq
			if row.Change && strings.Contains(string(row.Event.Status), `"execution":`) {
				told[row.Event.ID]++
			}
		}
	}
	for id := range told {
		st := h.status(id)
		require.NotNil(h.t, st.Execution)
		require.Greater(h.t, st.Execution.EventID, id)
	}
	all, err := h.Store.Find(h.t.Context(), store.Filter{Limit: 1000, Oldest: true})
	require.NoError(h.t, err)
	n := 0
	for _, e := range all {
		if e.Question != nil && h.status(e.ID).Execution != nil {
			n++
		}
	}
	require.Equal(h.t, len(told), n)
}

// TestProjector_SecondWriterConflicts: of two projectors at the same cursor, one fails, and
// nothing is counted twice.
func TestProjector_SecondWriterConflicts(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, two := h.newProjector(), h.newProjector()
	h.post(plainEvent)
	_, err := one.step(t.Context())
	require.NoError(t, err)
	two.cursor = 0 // where both started
	_, err = two.step(t.Context())
	require.ErrorIs(t, err, store.ErrConflict)
	h.post(plainEvent)
	h.catchUp(two)
	_, err = one.step(t.Context())
	require.ErrorIs(t, err, store.ErrConflict)
	h.catchUp(one)
	quarters := []int64{0}
	requireSameProjections(t, h.recomputeProjections(quarters), h.readProjections(quarters))
}

// TestProjector_SkipsIrrelevantChanges: changes without an effect on the tables do not write
// the cursor.
func TestProjector_SkipsIrrelevantChanges(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	f := h.newProjector()
	id, _ := h.ask(callbackQuestion)
	h.catchUp(f)
	require.EqualValues(t, 1, f.cursor)
	for i := range 3 {
		counts := &schema.NotificationCounts{}
		require.NoError(t, h.hub.SetNotifications(t.Context(), id, []schema.Notification{{Error: fmt.Sprint(i)}}, counts))
	}
	h.catchUp(f)
	require.EqualValues(t, 1, f.cursor)
	require.EqualValues(t, 4, f.at)
	h.post(plainEvent)
	h.catchUp(f)
	cursor, err := h.Store.ProjectionCursor(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, cursor)
}

// TestRunProjector_FollowsAndStops: it stops with its context, and a new run continues.
func TestRunProjector_FollowsAndStops(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		h.post(plainEvent)
		require.Eventually(t, func() bool {
			page, err := h.Sessions(t.Context(), store.SessionFilter{Limit: 1})
			return err == nil && len(page.Sessions) == 1 && page.Sessions[0].Events == int64(round+1)
		}, waitLimit, time.Millisecond)
		cancel()
		require.NoError(t, <-done)
	}
}

// runProjector runs the projector until the test ends.
func (h *testHub) runProjector() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		require.NoError(h.t, <-done)
	})
	require.Eventually(h.t, func() bool { return h.progress.joinUntil() != nil }, waitLimit, time.Millisecond, "the projector runs")
}

// TestService_ReadsOwnWrites: a query includes every event that was acknowledged before it.
func TestService_ReadsOwnWrites(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.runProjector()
	key := store.SessionKey{App: "a", Session: "s"}
	for n := range int64(20) {
		h.post(plainEvent)
		switch n % 3 {
		case 0:
			page, err := h.Sessions(t.Context(), store.SessionFilter{Limit: 1})
			require.NoError(t, err)
			require.Len(t, page.Sessions, 1)
			require.Equal(t, n+1, page.Sessions[0].Events)
		case 1:
			detail, err := h.Session(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, n+1, detail.Session.Events)
		default:
			o, err := h.Overview(t.Context(), 1, time.UTC)
			require.NoError(t, err)
			require.Equal(t, n+1, o.Agents[0].Events)
		}
	}
}

// commitCounter counts commits.
type commitCounter struct{ n atomic.Int64 }

func (c *commitCounter) Committed(store.Commit) { c.n.Add(1) }

// TestProjector_SharesCommitsOfEvents: the projections of a stream of events take part in the
// commits of the events.
func TestProjector_SharesCommitsOfEvents(t *testing.T) {
	t.Parallel()
	var commits commitCounter
	h := newHub(storetest.Open(t, storetest.Options{Fast: true, Commits: &commits}), Config{})
	h.t = t
	h.runProjector()
	h.post(plainEvent)
	_, err := h.Sessions(t.Context(), store.SessionFilter{Limit: 1}) // the new session is projected
	require.NoError(t, err)
	before, posted, projected, last := commits.n.Load(), int64(0), 0, int64(0)
	for began := time.Now(); projected < 3 && time.Since(began) < waitLimit; posted++ {
		h.post(plainEvent)
		cursor, err := h.Store.ProjectionCursor(t.Context())
		require.NoError(t, err)
		if cursor != last {
			projected, last = projected+1, cursor
		}
	}
	require.Equal(t, 3, projected)
	require.LessOrEqual(t, commits.n.Load()-before, posted*110/100)
}

// TestSessionCache_ForgetsPrunedSessions: a session whose events retention removed starts again
// when it continues, although the projector knew it.
func TestSessionCache_ForgetsPrunedSessions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	f := h.newProjector()
	for range 2 {
		h.post(plainEvent)
		h.catchUp(f)
	}
	_, err := h.Store.Prune(t.Context(), store.RetentionPolicy{EventsBefore: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	last := h.post(plainEvent)
	h.catchUp(f)
	detail, err := h.Session(t.Context(), store.SessionKey{App: "a", Session: "s"})
	require.NoError(t, err)
	require.EqualValues(t, 1, detail.Session.Events)
	require.Equal(t, last.ID, detail.Session.FirstID)
}

// TestProjector_FailedStepKeepsCursor: the next step reads the same rows again.
func TestProjector_FailedStepKeepsCursor(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post(plainEvent)
	f := h.newProjector()
	require.NoError(t, h.Store.Close())
	_, err := f.step(t.Context())
	require.Error(t, err)
	require.EqualValues(t, -1, f.cursor, "the stored cursor is read again")
}

// TestExecution_SurvivesCrash: the status is written before the cursor. After a crash in
// between, the projector sets the execution again, which changes nothing.
func TestExecution_SurvivesCrash(t *testing.T) {
	t.Parallel()
	now := time.Now().Round(0)
	h := newTestHub(t, func(c *Config) { c.Clock = func() time.Time { return now } })
	saved := h.post(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{},"tool_use_id":"u1","humanInTheLoop":` + pullQuestion + `}`)
	h.hub.ResponseSent(saved.ID)
	_, err := h.hub.Respond(t.Context(), saved.ID, approval(), hub.Caller{})
	require.NoError(t, err)
	h.catchUp(h.newProjector())
	ended := h.post(`{"source_app":"a","session_id":"s","hook_event_type":"PostToolUseFailure","payload":{"error":"exit 1"},"tool_use_id":"u1"}`)
	h.post(`{"source_app":"a","session_id":"other","hook_event_type":"PostToolUse","payload":{},"tool_use_id":"u1"}`)
	ran := digest.ExecutionOutcome{Question: saved.ID, At: now.UnixMilli() + 5000, Execution: schema.Execution{State: schema.ToolFailed, Error: "exit 1", EventID: ended.ID}}
	require.NoError(t, h.hub.RecordExecution(t.Context(), ran.Question, ran.Execution, ran.At))
	head, before := h.Store.Head(), h.status(saved.ID)
	h.catchUp(h.newProjector())
	require.Equal(t, head, h.Store.Head(), "nothing was written again")
	st := h.status(saved.ID)
	require.Equal(t, before, st)
	require.Equal(t, schema.Responded, st.Status)
	require.Equal(t, schema.ToolFailed, st.Execution.State)
	require.Equal(t, "exit 1", st.Execution.Error)
	require.EqualValues(t, 5000, st.Execution.DurationMS)
	require.Equal(t, int64(3), st.Revision)

	ran.Question = 99
	cursor, err := h.Store.ProjectionCursor(t.Context())
	require.NoError(t, err)
	batch := projection{
		service: h.Service, cache: &sessionCache{}, executions: []digest.ExecutionOutcome{ran},
		ProjectionBatch: store.ProjectionBatch{From: cursor, To: cursor},
	}
	require.NoError(t, batch.commit(t.Context()), "a question that retention deleted is skipped")
}

// TestExecution_StreamsStatusFrame: version 2 gets a status frame, version 1 gets nothing.
func TestExecution_StreamsStatusFrame(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	saved := h.post(`{"source_app":"a","session_id":"s","hook_event_type":"PermissionRequest","payload":{"tool_use_id":"u1"},"humanInTheLoop":` + pullQuestion + `}`)
	h.hub.ResponseSent(saved.ID)
	h.post(`{"source_app":"a","session_id":"s","hook_event_type":"PostToolUse","payload":{"tool_use_id":"u1"}}`)
	seq := h.Store.Head()
	h.catchUp(h.newProjector())
	frames, _, ok := h.Feed.After(seq)
	require.True(t, ok)
	require.Len(t, frames, 1)
	require.True(t, frames[0].Status)
	require.Nil(t, frames[0].End, "version 1 streams only get resolutions")
	require.Contains(t, string(frames[0].Data), `"execution":{"state":"succeeded","eventId":2}`)
	require.Equal(t, schema.Pending, h.status(saved.ID).Status, "the call ran without an answer from the hub")
}
