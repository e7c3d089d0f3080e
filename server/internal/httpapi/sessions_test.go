package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// runProjector runs the projector until the test ends or calls stop.
func (r *harness) runProjector() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Sessions.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(r.t, <-done)
	})
	r.t.Cleanup(stop)
	return stop
}

// waitForSession waits until the projection of a session contains that many events.
func (r *harness) waitForSession(app, session string, events int64) history.SessionDetail {
	r.t.Helper()
	var d history.SessionDetail
	require.Eventually(r.t, func() bool {
		resp, b := r.do("GET", sessionPath(schema.PathSession, app, session), "")
		return resp.StatusCode == 200 && json.Unmarshal(b, &d) == nil && d.Session.Events == events
	}, waitLimit, 5*time.Millisecond)
	return d
}

func sessionPath(path, app, session string) string {
	return path + "?" + url.Values{"source_app": {app}, "session_id": {session}}.Encode()
}

func (r *harness) getJSON(path string, into any) {
	r.t.Helper()
	resp, b := r.do("GET", path, "")
	require.Equal(r.t, 200, resp.StatusCode, "%s: %s", path, b)
	require.NoError(r.t, json.Unmarshal(b, into), "%s: %s", path, b)
}

// postSessionEvent posts an event of session s1 of application demo.
func (r *harness) postSessionEvent(typ, payload string, members ...string) schema.Event {
	r.t.Helper()
	return r.post(fmt.Sprintf(`{"source_app":"demo","session_id":"s1","hook_event_type":%q,"payload":%s%s}`,
		typ, payload, strings.Join(append([]string{""}, members...), ",")))
}

// postSession posts the events of a session: a prompt, an approved call, a failed call, and
// the end.
func (r *harness) postSession() {
	r.postSessionEvent("SessionStart", `{"cwd":"/home/mara/payments","model":"claude-opus-4-1"}`)
	r.postSessionEvent("UserPromptSubmit", `{"prompt":"Upgrade the\n  hub"}`)
	r.postSessionEvent("PreToolUse", `{"tool_input":{"command":"make"}}`, `"tool_name":"Bash"`, `"tool_use_id":"t1"`)
	question := r.postSessionEvent("PermissionRequest", `{}`, `"tool_name":"Bash"`, `"tool_use_id":"t1"`, permission)
	r.respond(question.ID)
	r.postSessionEvent("PostToolUse", `{}`, `"tool_name":"Bash"`, `"tool_use_id":"t1"`)
	r.postSessionEvent("PreToolUse", `{}`, `"tool_name":"Read"`, `"agent_id":"a1"`)
	r.postSessionEvent("PostToolUseFailure", `{"error":"no such file"}`, `"tool_name":"Read"`, `"agent_id":"a1"`)
	r.postSessionEvent("Stop", `{}`, `"chat":[{"message":{"id":"m1","model":"claude-sonnet-5","usage":{"input_tokens":3,"output_tokens":4}}}]`)
	r.postSessionEvent("SessionEnd", `{"total_cost_usd":0.25}`)
}

func TestSessions_SummarizeEvents(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	r.postSession()
	d := r.waitForSession("demo", "s1", 9)
	s := d.Session
	require.Equal(t, "Upgrade the hub", s.Title)
	require.Equal(t, "/home/mara/payments", s.Cwd)
	require.Equal(t, "claude-sonnet-5", s.Model)
	require.True(t, s.Ended)
	require.EqualValues(t, 1, s.FirstID)
	require.GreaterOrEqual(t, s.LastID, schema.EventID(10), "the approval and its execution have sequence numbers too")
	require.Equal(t, []int64{2, 1, 1, 1, 0}, []int64{s.Tools, s.Failures, s.Agents, s.Questions, s.Pending})
	require.Equal(t, &history.Tokens{Input: 3, Output: 4}, s.Tokens)
	require.InDelta(t, 0.25, s.CostUSD, 1e-9)
	require.Len(t, d.Tools, 2)
	require.Equal(t, "Bash", d.Tools[0].Tool)
	require.EqualValues(t, 1, d.Tools[1].Failures)

	var page history.SessionPage
	r.getJSON("/api/sessions", &page)
	require.Equal(t, []history.Session{s}, page.Sessions)
}

// TestSessions_ReportRunStatus follows a run through a question: it waits for a person until
// there is an answer.
func TestSessions_ReportRunStatus(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	r.postSessionEvent("SessionStart", `{}`)
	require.Equal(t, "processing", r.waitForSession("demo", "s1", 1).Session.RunStatus)
	question := r.postSessionEvent("PermissionRequest", `{}`, permission)
	require.Equal(t, "waiting_human", r.waitForSession("demo", "s1", 2).Session.RunStatus)
	r.respond(question.ID)
	require.Equal(t, "processing", r.waitForSession("demo", "s1", 2).Session.RunStatus)
	r.postSessionEvent("SessionEnd", `{}`)
	require.Equal(t, "ended", r.waitForSession("demo", "s1", 3).Session.RunStatus)
}

func TestSessions_FilterAndPaginate(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	const sessions = 7
	for i := range sessions {
		r.post(fmt.Sprintf(`{"source_app":"app%d","session_id":"s%d","hook_event_type":"UserPromptSubmit","payload":{"prompt":"Prüfe Nº %d"}}`, i%2, i, i))
	}
	r.waitForSession("app0", "s6", 1)
	var all []string
	for cursor, turn := "", 0; turn == 0 || cursor != ""; turn++ {
		require.Less(t, turn, sessions)
		var page history.SessionPage
		r.getJSON("/api/sessions?limit=3&cursor="+cursor, &page)
		for _, s := range page.Sessions {
			all = append(all, s.SessionID)
		}
		cursor = page.Next
	}
	require.Equal(t, []string{"s6", "s5", "s4", "s3", "s2", "s1", "s0"}, all)
	for query, want := range map[string][]string{
		"source_app=app1":          {"s5", "s3", "s1"},
		"q=PRÜFE+Nº+4":             {"s4"},
		"q=app1&source_app=app0":   nil,
		"q=S2":                     {"s2"},
		"source_app=app1&q=prüfe":  {"s5", "s3", "s1"},
		"q=%25":                    nil,
		"source_app=nobody":        nil,
		"q=prüfe&limit=1":          {"s6"},
		"q=prüfe&limit=1&cursor=3": {"s1"},
	} {
		var page history.SessionPage
		r.getJSON("/api/sessions?"+query, &page)
		var ids []string
		for _, s := range page.Sessions {
			ids = append(ids, s.SessionID)
		}
		require.Equal(t, want, ids, query)
	}
}

func TestSessions_RejectInvalidQueries(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for path, field := range map[string]string{
		"/api/sessions?limit=0": "limit", "/api/sessions?limit=201": "limit", "/api/sessions?cursor=x": "cursor",
		"/api/sessions?q=" + strings.Repeat("x", 1025): "q",
		"/api/overview?days=0":                         "days", "/api/overview?days=91": "days",
		"/api/spend?days=91": "days", "/api/spend?by=color": "by", "/api/spend?tz=Local": "tz", "/api/spend?format=xml": "format",
		"/api/overview?tz=Mars%2FOlympus": "tz", "/api/overview?tz=Local": "tz", "/api/overview?tz=..%2F..%2Fetc%2Fpasswd": "tz",
		"/api/session/export?format=pdf": "format",
	} {
		resp, b := r.do("GET", path, "")
		require.Equal(t, 400, resp.StatusCode, path)
		require.Equal(t, field, r.problem(resp, b).Field, path)
	}
	for _, path := range []string{schema.PathSession, schema.PathExport} {
		resp, b := r.do("GET", sessionPath(path, "demo", "none"), "")
		require.Equal(t, 404, resp.StatusCode)
		require.Equal(t, "not_found", r.problem(resp, b).Code)
	}
}

func TestOverview(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	r.postSession()
	r.postSessionEvent("PermissionRequest", `{}`, permission)
	r.waitForSession("demo", "s1", 10)
	for _, zone := range []string{"", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia"} {
		var o history.Overview
		r.getJSON("/api/overview?days=3&tz="+url.QueryEscape(zone), &o)
		at, err := time.LoadLocation(zone)
		require.NoError(t, err)
		require.Len(t, o.Days, 3)
		require.Equal(t, time.UnixMilli(int64(o.To)).In(at).Format(time.DateOnly), o.Days[2].Day)
		require.EqualValues(t, 1, o.Days[2].Approved, zone)
		require.EqualValues(t, 1, o.Pending)
		require.EqualValues(t, 1, o.Answered)
		require.Len(t, o.Agents, 1)
		a := o.Agents[0]
		require.Equal(t, []int64{10, 1, 2, 1, 2, 1}, []int64{a.Events, a.Sessions, a.Tools, a.Failures, a.Questions, a.Pending}, zone)
		require.Equal(t, &history.Tokens{Input: 3, Output: 4}, a.Tokens)
		require.InDelta(t, 0.25, a.CostUSD, 1e-9)
		require.False(t, a.Ended, "the session continued")
		require.Len(t, o.Tools, 2)
	}
}

func TestExecution_IsMatchedToQuestion(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	r.postSession()
	denied := r.postSessionEvent("PermissionRequest", `{}`, `"humanInTheLoop":{"question":"May I?","type":"permission","toolCall":{"name":"Bash","id":"t7"}}`)
	resp, b := r.do("POST", schema.At(schema.PathRespond, denied.ID), `{"permission":false}`)
	require.Equal(t, 200, resp.StatusCode, string(b))
	ran := r.postSessionEvent("PostToolUse", `{"tool_response":{"interrupted":true}}`, `"tool_name":"Bash"`, `"tool_use_id":"t7"`)
	var question schema.Event
	require.Eventually(t, func() bool {
		r.getJSON(schema.At(schema.PathEvent, denied.ID), &question)
		return question.HumanInTheLoopStatus.Execution != nil
	}, waitLimit, 5*time.Millisecond)
	require.Equal(t, &schema.Execution{State: schema.Interrupted, EventID: ran.ID}, question.HumanInTheLoopStatus.Execution)
	require.Equal(t, schema.Deny, question.HumanInTheLoopStatus.Outcome)
	r.getJSON(schema.At(schema.PathEvent, 4), &question)
	x := question.HumanInTheLoopStatus.Execution
	require.NotNil(t, x)
	require.Equal(t, schema.Succeeded, x.State)
	require.EqualValues(t, 6, x.EventID)
}

func TestExport(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	r.postSession()
	r.waitForSession("demo", "s1", 9)
	path := sessionPath(schema.PathExport, "demo", "s1")
	resp, b := r.do("GET", path, "")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "application/x-ndjson", resp.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="hookback-demo-s1.ndjson"`, resp.Header.Get("Content-Disposition"))
	require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	require.Len(t, lines, 9)
	for _, line := range lines {
		var e schema.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.Equal(t, e.HookEventType == "Stop", e.Chat != nil, "only the newest transcript is exported")
	}
	resp, b = r.do("HEAD", path, "")
	require.Equal(t, 200, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Content-Disposition"))
	require.Empty(t, b)

	resp, b = r.do("GET", path+"&format=markdown", "")
	require.Equal(t, "text/markdown; charset=utf-8", resp.Header.Get("Content-Type"))
	for _, want := range []string{"# Upgrade the hub\n", "```json\n{\n  \"command\": \"make\"\n}\n```", "**Approved** at", "**Failed.**", "no such file"} {
		require.Contains(t, string(b), want)
	}
}

// TestExport_SanitizesFileName checks that names chosen by agents cannot inject headers or
// paths.
func TestExport_SanitizesFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"demo": "demo", "a b/c\\d": "a-b-c-d", "..": "--", "x\"; filename=\"evil.exe": "x---filename--evil-exe",
		"a\r\nSet-Cookie: b": "a--Set-Cookie--b", "äöü": "---", strings.Repeat("n", 100): strings.Repeat("n", 60),
	} {
		require.Equal(t, want, fileName(name), "%q", name)
	}
	r := setup(t)
	r.runProjector()
	e := r.post(`{"source_app":"x\"; filename=\"evil.exe","session_id":"../s","hook_event_type":"Stop","payload":{}}`)
	r.waitForSession(e.SourceApp, e.SessionID, 1)
	resp, b := r.do("GET", sessionPath(schema.PathExport, e.SourceApp, e.SessionID)+"&format=markdown", "")
	require.Equal(t, 200, resp.StatusCode, string(b))
	require.Equal(t, `attachment; filename="hookback-x---filename--evil-exe----s.md"`, resp.Header.Get("Content-Disposition"))
}

// TestExport_ShutdownTruncatesVisibly stops the hub during a download. The client must not
// mistake the result for a complete file.
func TestExport_ShutdownTruncatesVisibly(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	const events = 250
	big := strings.Repeat("x", 60_000)
	for range events {
		r.postSessionEvent("Stop", `{"big":"`+big+`"}`)
	}
	r.waitForSession("demo", "s1", events)
	resp, err := r.client.Get("http://" + r.addr + sessionPath(schema.PathExport, "demo", "s1"))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	first := make([]byte, 1000)
	_, err = io.ReadFull(resp.Body, first)
	require.NoError(t, err)
	r.stop()
	rest, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, len(rest), events*len(big))
}

// TestSessions_RejectForeignOrigins checks that these routes are behind the origin guard.
func TestSessions_RejectForeignOrigins(t *testing.T) {
	t.Parallel()
	r := setup(t)
	for _, path := range []string{schema.PathSessions, schema.PathSession, schema.PathExport, schema.PathOverview, history.PathNow} {
		resp, _ := r.do("GET", path, "", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site")
		require.Equal(t, 403, resp.StatusCode, path)
		resp, _ = r.do("GET", path, "", "Host", "evil.example")
		require.Equal(t, 421, resp.StatusCode, path)
		resp, _ = r.do("POST", path, "{}", "Content-Type", "application/json")
		require.Equal(t, 405, resp.StatusCode, path)
	}
}

func TestSpend_ReportsAndExports(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	r.postSessionEvent("ApiRequest", `{"model":"opus","usage":{"input_tokens":3,"output_tokens":4},"cost_usd":0.5}`, `"os_user":"ada"`)
	r.waitForSession("demo", "s1", 1)
	var report history.SpendReport
	r.getJSON("/api/spend?by=model,person", &report)
	require.Len(t, report.Rows, 1)
	require.Equal(t, "opus", *report.Rows[0].Model)
	require.Equal(t, "ada", *report.Rows[0].Person)
	require.Nil(t, report.Rows[0].Day)
	require.InDelta(t, 0.5, report.CostUSD, 1e-9)
	resp, b := r.do("GET", "/api/spend?by=model,person&format=csv", "")
	require.Equal(t, "text/csv; charset=utf-8", resp.Header.Get("Content-Type"))
	require.Equal(t, "model,person,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cost_usd\nopus,ada,3,4,0,0,0.500000\n", string(b))
	var page history.SessionPage
	r.getJSON("/api/sessions?person=ada", &page)
	require.Len(t, page.Sessions, 1)
	require.Equal(t, history.PersonOfSystem, page.Sessions[0].PersonSource)
	r.getJSON("/api/sessions?person=eve", &page)
	require.Empty(t, page.Sessions)
}

func TestNow_ListsLanes(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.runProjector()
	r.postSessionEvent("PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"make"}}`, `"tool_name":"Bash"`)
	r.waitForSession("demo", "s1", 1)
	var report history.NowReport
	r.getJSON("/api/now?tz=Europe/Berlin", &report)
	require.Len(t, report.Lanes, 1)
	require.Equal(t, history.LaneWorking, report.Lanes[0].State)
	require.Equal(t, "Run make", report.Lanes[0].Step.Text)
	resp, _ := r.do("GET", "/api/now?tz=Local", "")
	require.Equal(t, 400, resp.StatusCode)
}
