package now_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/live"
	"github.com/hookback/hookback/server/internal/now"
	"github.com/hookback/hookback/server/internal/sessions"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the time at which a test hub starts.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// testHub is a hub with its projections over a real database, at a time that the test sets.
type testHub struct {
	*now.Service
	t     testing.TB
	store store.Store
	hub   *hub.Hub
	ms    atomic.Int64 // after noon
}

func newTestHub(t testing.TB) *testHub {
	t.Helper()
	h := &testHub{t: t}
	h.store = storetest.Open(t, storetest.Options{Clock: h.clock, Fast: true})
	log := feed.New(h.store.Head(), 64, 1<<20)
	h.hub = hub.New(hub.Config{Store: h.store, Feed: log, Clock: h.clock})
	projected := &startedStore{Store: h.store, started: make(chan struct{})}
	projections := sessions.New(sessions.Config{Store: projected, Feed: log, Executions: h.hub, Clock: h.clock})
	h.Service = now.New(now.Config{Live: live.New(h.store), Freezes: h.store, Sessions: projections, Clock: h.clock})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- projections.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	<-projected.started
	return h
}

// startedStore tells when the projections start. Until then, no report waits for them.
type startedStore struct {
	store.Store
	once    sync.Once
	started chan struct{}
}

func (s *startedStore) ProjectionCursor(ctx context.Context) (int64, error) {
	s.once.Do(func() { close(s.started) })
	return s.Store.ProjectionCursor(ctx)
}

func (h *testHub) clock() time.Time { return noon.Add(time.Duration(h.ms.Load()) * time.Millisecond) }

func (h *testHub) pass(d time.Duration) { h.ms.Add(d.Milliseconds()) }

// post posts an event of a session of the application api.
func (h *testHub) post(session, typ, payload string, members ...string) schema.EventID {
	h.t.Helper()
	return h.postBody(fmt.Sprintf(`{"source_app":"api","session_id":%q,"hook_event_type":%q,"payload":%s%s}`,
		session, typ, payload, strings.Join(append([]string{""}, members...), ",")))
}

func (h *testHub) postBody(body string) schema.EventID {
	h.t.Helper()
	saved, err := h.hub.Ingest(h.t.Context(), []byte(body), hub.Caller{})
	require.NoError(h.t, err)
	if saved.HasQuestion {
		h.hub.ResponseSent(saved.ID)
	}
	return saved.ID
}

const makeCall = `{"tool_name":"Bash","tool_input":{"command":"make test"}}`

// start posts the start of a call to make.
func (h *testHub) start(session, useID string) schema.EventID {
	h.t.Helper()
	return h.post(session, "PreToolUse", makeCall, `"tool_name":"Bash"`, fmt.Sprintf(`"tool_use_id":%q`, useID))
}

// end posts the end of a call to make.
func (h *testHub) end(session, typ, useID string) schema.EventID {
	h.t.Helper()
	return h.post(session, typ, makeCall, `"tool_name":"Bash"`, fmt.Sprintf(`"tool_use_id":%q`, useID))
}

// ask posts a permission for a call to make.
func (h *testHub) ask(session string, members ...string) schema.EventID {
	h.t.Helper()
	question := `"type":"permission","question":"May I?","toolCall":{"name":"Bash","arguments":{"command":"make test"}}`
	return h.post(session, "PermissionRequest", makeCall, `"tool_name":"Bash"`,
		`"humanInTheLoop":{`+strings.Join(append([]string{question}, members...), ",")+`}`)
}

func (h *testHub) answer(id schema.EventID, approve bool) {
	h.t.Helper()
	_, err := h.hub.Respond(h.t.Context(), id, &schema.Response{Permission: &approve}, hub.Caller{})
	require.NoError(h.t, err)
}

// changeStatus changes the stored status of a question.
func (h *testHub) changeStatus(id schema.EventID, change func(*schema.Status)) {
	h.t.Helper()
	q, err := h.store.Question(h.t.Context(), id)
	require.NoError(h.t, err)
	var st schema.Status
	require.NoError(h.t, json.Unmarshal(q.Status, &st))
	change(&st)
	st.Revision++
	status, err := json.Marshal(st)
	require.NoError(h.t, err)
	require.NoError(h.t, h.store.Apply(h.t.Context(), store.Change{Event: &q.Event, Version: q.Version, State: st.Status, Status: status, Ends: st.Status != schema.Pending}))
}

func (h *testHub) report() history.NowReport {
	h.t.Helper()
	return h.reportFor(auth.Identity{})
}

func (h *testHub) reportFor(me auth.Identity) history.NowReport {
	h.t.Helper()
	r, err := h.Report(h.t.Context(), me, time.UTC)
	require.NoError(h.t, err)
	return r
}

// lane returns the only lane.
func (h *testHub) lane() history.NowLane {
	h.t.Helper()
	r := h.report()
	require.Len(h.t, r.Lanes, 1)
	return r.Lanes[0]
}

// states returns the lanes as "session state".
func states(r history.NowReport) (lines []string) {
	for _, l := range r.Lanes {
		lines = append(lines, l.SessionID+" "+string(l.State))
	}
	return lines
}

func TestReport_EmptyHub(t *testing.T) {
	t.Parallel()
	r := newTestHub(t).report()
	require.Equal(t, history.NowReport{
		At: schema.Millis(noon.UnixMilli()), Lanes: []history.NowLane{}, BucketMS: 10_000,
		StripFrom: schema.Millis(noon.Add(-590 * time.Second).UnixMilli()), KnownFrom: schema.Millis(noon.Add(-590 * time.Second).UnixMilli()),
	}, r)
}

func TestReport_OrdersLanesByState(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	gone := h.ask("gone")
	h.changeStatus(gone, func(st *schema.Status) { st.Waiter = schema.Lost })
	h.post("idle", "Stop", `{}`)
	h.post("ended", "SessionEnd", `{}`)
	h.post("stopped", "Stop", `{}`)
	_, _, err := h.store.CreateFreeze(t.Context(), control.Freeze{Scope: control.FreezeSession, SourceApp: "api", SessionID: "stopped", By: "ada"})
	require.NoError(t, err)
	h.pass(2 * time.Minute)
	h.post("working", "UserPromptSubmit", `{}`)
	h.post("terminal", "PermissionRequest", makeCall)
	h.post("failing", "StopFailure", `{}`)
	h.ask("asking")
	h.pass(30 * time.Second)
	r := h.report()
	require.Equal(t, []string{"asking needs_you", "failing failing", "terminal terminal", "working working", "idle idle", "stopped frozen", "gone gone", "ended ended"}, states(r))
	require.EqualValues(t, 1, r.NeedsYou)
	require.EqualValues(t, 1, r.Working)
	require.Zero(t, r.MoreLanes)
}

func TestReport_ListsHalfAnHour(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("quiet", "Stop", `{}`)
	open := h.ask("asking")
	h.pass(30 * time.Minute)
	require.Equal(t, []string{"asking needs_you", "quiet idle"}, states(h.report()))
	h.pass(time.Millisecond)
	r := h.report()
	require.Equal(t, []string{"asking needs_you"}, states(r))
	require.Equal(t, []schema.EventID{open}, r.Lanes[0].Requests)
	h.answer(open, true)
	require.Empty(t, h.report().Lanes)
}

func TestReport_DescribesSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("s", "UserPromptSubmit", `{"prompt":"Rate limit the\ncheckout"}`)
	h.start("s", "1")
	h.end("s", "PostToolUseFailure", "1")
	h.pass(time.Second)
	last := h.post("s", "Stop", `{"total_cost_usd":0.5}`)
	lane := h.lane()
	require.Equal(t, "api", lane.SourceApp)
	require.Equal(t, "Rate limit the checkout", lane.Title)
	require.EqualValues(t, 1, lane.Failures)
	require.InDelta(t, 0.5, lane.CostUSD, 1e-9)
	require.EqualValues(t, noon.UnixMilli(), lane.StartedAt)
	require.EqualValues(t, noon.Add(time.Second).UnixMilli(), lane.LastAt)
	require.Equal(t, &history.NowEvent{ID: last, Type: "Stop", At: lane.LastAt}, lane.Last)
	r := h.report()
	require.InDelta(t, 0.5, r.CostUSD, 1e-9)
	require.Equal(t, last, r.UpTo)
}

func TestReport_StepIsNewestRunningCall(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.start("s", "1")
	h.pass(time.Second)
	h.post("s", "PreToolUse", `{"tool_name":"Read","cwd":"/srv/x","tool_input":{"file_path":"/srv/x/go.mod"}}`, `"tool_name":"Read"`, `"tool_use_id":"2"`)
	at := schema.Millis(noon.Add(time.Second).UnixMilli())
	require.Equal(t, &history.NowStep{Text: "Read go.mod", Since: at, ToolUseID: "2"}, h.lane().Step)
	read := `{"tool_name":"Read","cwd":"/srv/x","tool_input":{"file_path":"/srv/x/go.mod"}}`
	h.post("s", "PreToolUse", read, `"tool_name":"Read"`, `"tool_use_id":"2"`) // reported twice
	h.post("s", "PostToolUse", `{}`, `"tool_name":"Read"`, `"tool_use_id":"2"`)
	require.Equal(t, &history.NowStep{Text: "Run make test", Since: schema.Millis(noon.UnixMilli()), ToolUseID: "1"}, h.lane().Step)
	h.post("s", "PreToolUse", read, `"tool_name":"Read"`, `"tool_use_id":"1"`) // some models use an id again
	require.Equal(t, &history.NowStep{Text: "Read go.mod", Since: at, ToolUseID: "1"}, h.lane().Step)
	h.post("s", "Stop", `{}`)
	require.Nil(t, h.lane().Step, "the turn is over")
}

func TestReport_RunningCallIsWork(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.start("s", "1")
	h.pass(10*time.Minute - time.Millisecond)
	require.Equal(t, history.LaneWorking, h.lane().State)
	h.pass(time.Millisecond)
	require.Equal(t, history.LaneIdle, h.lane().State)
	h.end("s", "PostToolUse", "1")
	require.Equal(t, history.LaneWorking, h.lane().State)
	h.pass(time.Minute)
	require.Equal(t, history.LaneIdle, h.lane().State)
}

func TestReport_CallsWithoutIDEndByTool(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("s", "PreToolUse", makeCall, `"tool_name":"Bash"`)
	require.NotNil(t, h.lane().Step)
	h.post("s", "PostToolUse", makeCall, `"tool_name":"Read"`)
	require.NotNil(t, h.lane().Step)
	h.post("s", "PostToolUse", makeCall, `"tool_name":"Bash"`)
	require.Nil(t, h.lane().Step)
}

func TestReport_ThreeFailedCallsAreFailing(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for i, want := range []history.LaneState{history.LaneWorking, history.LaneWorking, history.LaneFailing} {
		id := fmt.Sprint(i)
		h.start("s", id)
		h.end("s", "PostToolUseFailure", id)
		require.Equal(t, want, h.lane().State, "after %d failures", i+1)
	}
	h.ask("s")
	require.Equal(t, history.LaneNeedsYou, h.lane().State)
	require.True(t, h.lane().Failing)
	h.end("s", "PostToolUse", "4")
	require.False(t, h.lane().Failing)
}

func TestReport_RequestIsStepUntilAnswered(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.start("s", "1")
	h.pass(time.Second)
	id := h.ask("s", `"context":{}`)
	h.pass(40 * time.Second)
	lane := h.lane()
	require.Equal(t, &history.NowStep{Text: "Run make test", Since: schema.Millis(noon.Add(time.Second).UnixMilli())}, lane.Step)
	require.EqualValues(t, 40_000, lane.BlockedMS)
	require.Equal(t, []history.NowWait{{From: lane.Step.Since}}, lane.Waits)
	h.answer(id, false)
	h.pass(20 * time.Second)
	r := h.report()
	require.Nil(t, r.Lanes[0].Step, "the denied call does not run")
	require.Empty(t, r.Lanes[0].Requests)
	require.EqualValues(t, 40_000, r.Lanes[0].BlockedMS)
	require.Equal(t, []history.NowWait{{From: lane.Step.Since, To: lane.Step.Since + 40_000}}, r.Lanes[0].Waits)
	require.Zero(t, r.NeedsYou)
}

// The agent continues without a call that waits for a later approval.
func TestReport_LaterRequestBlocksNoLane(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.start("s", "t1")
	id := h.ask("s", `"appeal":{"by":"the Hookback policy","later":true}`)
	h.pass(10 * time.Second)
	h.start("s", "t2")
	lane := h.lane()
	require.Equal(t, history.LaneWorking, lane.State)
	require.Equal(t, []schema.EventID{id}, lane.Requests)
	require.Empty(t, lane.Waits)
	require.EqualValues(t, 1, h.report().NeedsYou)
	h.answer(id, false)
	lane = h.lane()
	require.Empty(t, lane.Waits)
	require.Zero(t, lane.BlockedMS)
}

func TestReport_WaitsAreDisjoint(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	first := h.post("s", "PermissionRequest", `{"n":1}`, `"humanInTheLoop":{"type":"question","question":"One?"}`)
	h.pass(10 * time.Second)
	second := h.post("s", "PermissionRequest", `{"n":2}`, `"humanInTheLoop":{"type":"question","question":"Two?"}`)
	h.pass(10 * time.Second)
	text := "yes"
	_, err := h.hub.Respond(t.Context(), first, &schema.Response{Response: &text}, hub.Caller{})
	require.NoError(t, err)
	from := schema.Millis(noon.UnixMilli())
	require.Equal(t, []history.NowWait{{From: from}}, h.lane().Waits, "one still waits")
	h.pass(10 * time.Second)
	_, err = h.hub.Respond(t.Context(), second, &schema.Response{Response: &text}, hub.Caller{})
	require.NoError(t, err)
	require.Equal(t, []history.NowWait{{From: from, To: from + 30_000}}, h.lane().Waits)
	require.EqualValues(t, 30_000, h.lane().BlockedMS, "overlapping waits count once")
	h.pass(10*time.Minute + 30*time.Second)
	require.Empty(t, h.lane().Waits, "of the last ten minutes")
}

func TestReport_StripCountsEvents(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("s", "Stop", `{}`)
	h.post("s", "Stop", `{}`)
	h.pass(25 * time.Second)
	h.post("s", "Stop", `{}`)
	r := h.report()
	buckets := r.Lanes[0].Buckets
	require.Len(t, buckets, 60)
	require.Equal(t, []int64{2, 0, 1}, buckets[57:])
	h.pass(9*time.Minute + 40*time.Second)
	r = h.report()
	require.Equal(t, []int64{0, 1, 0}, r.Lanes[0].Buckets[:3])
	h.pass(10 * time.Second)
	require.EqualValues(t, 1, h.lane().Buckets[0])
	h.pass(10 * time.Second)
	require.Empty(t, h.lane().Buckets)
	h.pass(10 * time.Minute)
	h.post("s", "Stop", `{}`)
	buckets = h.lane().Buckets
	require.EqualValues(t, 1, buckets[59], "a bucket of the ring is used again")
	require.Zero(t, buckets[58])
}

func TestReport_LostWaiterIsGone(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.ask("s")
	h.report() // the tracker has the request, and learns of the change
	h.changeStatus(id, func(st *schema.Status) { st.Waiter = schema.Lost })
	h.pass(time.Minute)
	r := h.report()
	require.Equal(t, []string{"s gone"}, states(r))
	require.Zero(t, r.NeedsYou)
	require.Empty(t, r.Lanes[0].Waits)
	require.Equal(t, []schema.EventID{id}, r.Lanes[0].Requests)
	h.post("s", "UserPromptSubmit", `{}`)
	require.Equal(t, history.LaneWorking, h.lane().State, "it continued")
}

func TestReport_InformationNeedsNoAnswer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("s", "Notification", `{}`, `"humanInTheLoop":{"type":"question","question":"Done.","requiresResponse":false}`)
	r := h.report()
	require.Equal(t, []string{"s working"}, states(r))
	require.Zero(t, r.NeedsYou)
	require.Len(t, r.Lanes[0].Requests, 1)
}

func TestReport_OtherRecipientsAreAskedFirst(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.ask("s")
	h.changeStatus(id, func(st *schema.Status) { st.Recipients, st.Awaiting = []string{"ada", "eve"}, []string{"eve"} })
	r := h.reportFor(auth.Identity{Name: "ada"})
	require.Equal(t, []string{"s idle"}, states(r), "ada has voted")
	require.Zero(t, r.NeedsYou)
	require.Equal(t, "Run make test", r.Lanes[0].Step.Text)
	r = h.reportFor(auth.Identity{Name: "eve"})
	require.Equal(t, []string{"s needs_you"}, states(r))
	require.EqualValues(t, 1, r.NeedsYou)
}

func TestReport_UndoWindowNeedsNoAnswer(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.ask("s")
	approve := true
	_, err := h.hub.Respond(t.Context(), id, &schema.Response{Permission: &approve, HoldMS: 5000}, hub.Caller{})
	require.NoError(t, err)
	r := h.report()
	require.Equal(t, []string{"s idle"}, states(r))
	require.Zero(t, r.NeedsYou)
}

func TestReport_OmitsTestRequests(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.appendEvents(1, schema.TestApp, "t")
	require.Empty(t, h.report().Lanes)
	_, err := h.store.Append(t.Context(), &store.EventDraft{
		Event: store.Event{
			UID: "00000000-0000-7000-8000-00000000abcd", App: "api", Session: "s", Type: "Test", ReceivedAt: h.clock(),
			Envelope: []byte(`"source_app":"api","session_id":"s","hook_event_type":"Test"`), Payload: []byte(`{}`),
			Question: []byte(`{"type":"question","question":"Test?"}`), Status: []byte(`{"status":"pending","revision":1,"test":true}`),
		},
		NewQuestion: &store.NewQuestion{},
	})
	require.NoError(t, err)
	r := h.report()
	require.Equal(t, []string{"s working"}, states(r))
	require.Zero(t, r.NeedsYou)
	require.Empty(t, r.Lanes[0].Requests)
}

func TestReport_TelemetryIsNoActivity(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("s", "Stop", `{}`)
	h.post("s", "ApiRequest", `{"model":"opus","cost_usd":0.25}`)
	lane := h.lane()
	require.Equal(t, "Stop", lane.Last.Type)
	require.InDelta(t, 0.25, lane.CostUSD, 1e-9)
	require.EqualValues(t, 1, lane.Buckets[59])
}

func TestReport_CutsLongTexts(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("s", "Stop", `{}`, `"humanInTheLoop":{"type":"question","question":"`+strings.Repeat("ä", 500)+`"}`)
	require.Equal(t, strings.Repeat("ä", 240)+"…", h.lane().Step.Text)
}

func TestReport_LimitsLanesAndCountsTheRest(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	asking := h.ask("asking")
	h.pass(31 * time.Minute)
	const active = 430 // more than two pages
	for i := range active {
		h.post(fmt.Sprintf("s%d", i), "UserPromptSubmit", `{}`)
	}
	r := h.report()
	require.Len(t, r.Lanes, history.MaxLanes)
	require.EqualValues(t, active+1-history.MaxLanes, r.MoreLanes)
	require.EqualValues(t, active, r.Working)
	require.Equal(t, []schema.EventID{asking}, r.Lanes[0].Requests, "requests are never cut off")
	body, err := json.Marshal(r)
	require.NoError(t, err)
	require.Less(t, len(body), 200<<10)
}

// A hub that starts, or that no page has asked for long, reads only the end of the log.
func TestReport_ReadsEndOfLog(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("old", "PreToolUse", makeCall, `"tool_name":"Bash"`)
	open := h.ask("old")
	h.pass(5 * time.Minute)
	h.appendEvents(20_001, "api", "flood")
	r := h.report()
	require.Equal(t, []string{"old needs_you", "flood idle"}, states(r))
	require.Equal(t, []schema.EventID{open}, r.Lanes[0].Requests, "open requests are read in any case")
	require.Nil(t, r.Lanes[0].Last)
	require.EqualValues(t, h.clock().UnixMilli(), r.KnownFrom)
	require.EqualValues(t, 20_000, r.Lanes[1].Buckets[59])
}

// appendEvents stores n events of a session through the store, which skips the cost of scanning them.
func (h *testHub) appendEvents(n int, app, session string) {
	h.t.Helper()
	drafts := make([]*store.EventDraft, n)
	for i := range drafts {
		drafts[i] = &store.EventDraft{Event: store.Event{
			UID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i), App: app, Session: session, Type: "Stop", ReceivedAt: h.clock(),
			Envelope: fmt.Appendf(nil, `"source_app":%q,"session_id":%q,"hook_event_type":"Stop"`, app, session), Payload: []byte(`{}`),
		}}
	}
	for len(drafts) > 0 {
		part := drafts[:min(len(drafts), 500)]
		drafts = drafts[len(part):]
		for _, result := range h.store.AppendAll(h.t.Context(), part) {
			require.NoError(h.t, result.Err)
		}
	}
}

// Pages ask at the same time, while events arrive.
func TestReport_ConcurrentCallers(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 10 {
				if _, err := h.Report(context.Background(), auth.Identity{}, time.UTC); err != nil {
					t.Errorf("report: %v", err)
				}
			}
		})
	}
	for i := range 50 {
		h.start("s", fmt.Sprint(i))
	}
	readers.Wait()
	require.EqualValues(t, 50, h.lane().Buckets[59], "each event counts once")
}

func TestReport_CanceledContext(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Report(ctx, auth.Identity{}, time.UTC)
	require.ErrorIs(t, err, context.Canceled)
	h.post("s", "Stop", `{}`)
	require.Len(t, h.report().Lanes, 1)
}

func TestReport_TodayStartsAtMidnightOfZone(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.post("s", "Stop", `{"total_cost_usd":0.5}`)
	h.ask("s")             // keeps its lane
	h.pass(13 * time.Hour) // 01:00 of the next day
	r := h.report()
	require.Zero(t, r.CostUSD)
	west, err := h.Report(t.Context(), auth.Identity{}, time.FixedZone("west", -8*3600))
	require.NoError(t, err)
	require.InDelta(t, 0.5, west.CostUSD, 1e-9)
}

// BenchmarkReport_Restart measures the first report of a hub with many events.
func BenchmarkReport_Restart(b *testing.B) {
	h := newTestHub(b)
	for i := range 40 {
		h.appendEvents(500, "api", fmt.Sprint("s", i))
	}
	for b.Loop() {
		h.Live = live.New(h.store)
		_, err := h.Report(b.Context(), auth.Identity{}, time.UTC)
		require.NoError(b, err)
	}
}
