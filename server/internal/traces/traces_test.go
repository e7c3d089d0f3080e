package traces_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
	"github.com/hookback/hookback/server/internal/traces"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sentSpan is a span as the collector reads it.
type sentSpan struct {
	TraceID    string `json:"traceId"`
	SpanID     string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	Name       string `json:"name"`
	Kind       int    `json:"kind"`
	Start      string `json:"startTimeUnixNano"`
	End        string `json:"endTimeUnixNano"`
	Attributes []struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	} `json:"attributes"`
	Status struct {
		Code int `json:"code"`
	} `json:"status"`
}

func (s *sentSpan) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			for _, v := range a.Value {
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}

// collector is a fake collector.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	status   int    // 0: 200
	answer   string // body of a 200
	requests int
	header   http.Header
	schema   []string
	spans    []sentSpan
	body     string
}

func newCollector(t testing.TB) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	c.requests++
	if c.status != 0 {
		w.WriteHeader(c.status)
		return
	}
	var request struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans     []sentSpan `json:"spans"`
				SchemaURL string     `json:"schemaUrl"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.header, c.body = r.Header, string(body)
	for _, rs := range request.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.schema = append(c.schema, ss.SchemaURL)
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	_, _ = io.WriteString(w, c.answer)
}

func (c *collector) set(status int, answer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status, c.answer = status, answer
}

// take returns the spans since the last call, by name.
func (c *collector) take() map[string][]sentSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	byName := map[string][]sentSpan{}
	for _, s := range c.spans {
		byName[s.Name] = append(byName[s.Name], s)
	}
	c.spans = nil
	return byName
}

// fixture is a follower and a hub over a new store.
type fixture struct {
	*traces.Follower
	*collector
	t       testing.TB
	db      store.Store
	feed    *feed.Feed
	hub     *hub.Hub
	now     time.Time
	content bool
	headers string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	x := &fixture{t: t, db: storetest.Open(t, storetest.Options{Fast: true}), feed: feed.New(0, 64, 1<<20), collector: newCollector(t), now: time.Now()}
	t.Cleanup(func() { _ = x.db.Close() })
	x.hub = hub.New(hub.Config{Store: x.db, Feed: x.feed, Clock: func() time.Time { return x.now }})
	x.restart()
	x.steps() // from here on
	return x
}

// restart replaces the parts that keep state in memory.
func (x *fixture) restart() {
	x.t.Helper()
	endpoint, err := traces.NewEndpoint(x.URL, x.headers, nil)
	require.NoError(x.t, err)
	x.Follower = traces.New(traces.Config{
		Store: x.db, Feed: x.feed, Endpoint: endpoint, Version: "1.2.3", Content: x.content, Clock: func() time.Time { return x.now },
	})
}

// steps reads the log up to its end.
func (x *fixture) steps() {
	x.t.Helper()
	for more := true; more; {
		var err error
		more, err = x.Step(x.t.Context())
		require.NoError(x.t, err)
	}
}

func (x *fixture) post(session, typ, payload string) schema.EventID {
	x.t.Helper()
	x.now = x.now.Add(time.Second)
	return x.ingest(fmt.Sprintf(`{"source_app":"shop","session_id":%q,"hook_event_type":%q,"payload":%s}`, session, typ, payload))
}

func (x *fixture) ingest(body string) schema.EventID {
	x.t.Helper()
	ack, err := x.hub.Ingest(x.t.Context(), []byte(body), hub.Caller{})
	require.NoError(x.t, err)
	return ack.ID
}

func (x *fixture) ask(session, members string) schema.EventID {
	x.t.Helper()
	x.now = x.now.Add(time.Second)
	return x.ingest(fmt.Sprintf(`{"source_app":"shop","session_id":%q,"hook_event_type":"PermissionRequest","payload":{},"humanInTheLoop":{"question":"Run it?","type":"permission","delivery":"pull"%s}}`, session, members))
}

func (x *fixture) answer(question schema.EventID, yes bool) {
	x.t.Helper()
	x.now = x.now.Add(time.Minute)
	_, err := x.hub.Respond(x.t.Context(), question, &schema.Response{Permission: &yes}, hub.Caller{})
	require.NoError(x.t, err)
}

// turn posts a turn with a call that a person approved, and a subagent with a failed call.
func (x *fixture) turn(session string) {
	x.t.Helper()
	x.post(session, "UserPromptSubmit", `{"prompt":"secret plan","agent":"claude-code","model":"claude-x"}`)
	x.post(session, "PreToolUse", `{"tool_use_id":"t1","tool_name":"Bash","tool_input":{"command":"rm secret"}}`)
	q := x.ask(session, `,"toolCall":{"id":"t1","name":"Bash","arguments":{"command":"rm secret"}}`)
	x.answer(q, true)
	x.post(session, "PostToolUse", `{"tool_use_id":"t1","tool_name":"Bash","tool_input":{"command":"rm secret"},"tool_response":{}}`)
	x.post(session, "SubagentStart", `{"agent_id":"a1","agent_type":"reviewer"}`)
	x.post(session, "PreToolUse", `{"agent_id":"a1","tool_use_id":"t2","tool_name":"Read","tool_input":{"file_path":"/a"}}`)
	x.post(session, "PostToolUseFailure", `{"agent_id":"a1","tool_use_id":"t2","tool_name":"Read","tool_input":{"file_path":"/a"},"error":"secret reason"}`)
	x.post(session, "SubagentStop", `{"agent_id":"a1"}`)
	x.post(session, "Stop", `{}`)
}

func TestFollower_SendsTurnAsSpans(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.turn("s1")
	x.steps()
	require.Equal(t, []string{traces.SchemaURL}, x.schema)
	require.NotContains(t, x.body, "secret", "no prompts, arguments or errors")
	spans := x.take()
	require.Len(t, spans, 5)
	root, call, wait := spans["invoke_agent claude-code"][0], spans["execute_tool Bash"][0], spans["hookback.wait_for_human"][0]
	subagent, failed := spans["invoke_agent reviewer"][0], spans["execute_tool Read"][0]
	require.Empty(t, root.Parent)
	for child, parent := range map[*sentSpan]sentSpan{&call: root, &wait: call, &subagent: root, &failed: subagent} {
		require.Equal(t, parent.SpanID, child.Parent, child.Name)
		require.GreaterOrEqual(t, child.Start, parent.Start)
		require.LessOrEqual(t, child.End, parent.End)
	}
	for _, s := range []sentSpan{root, call, wait, subagent, failed} {
		require.Equal(t, root.TraceID, s.TraceID)
		require.Len(t, s.TraceID, 32)
		require.Len(t, s.SpanID, 16)
		require.Equal(t, 1, s.Kind)
		require.Equal(t, "s1", s.attribute("gen_ai.conversation.id"))
	}
	require.Equal(t, "invoke_agent", root.attribute("gen_ai.operation.name"))
	require.Equal(t, "anthropic", root.attribute("gen_ai.provider.name"))
	require.Equal(t, "claude-x", root.attribute("gen_ai.request.model"))
	require.Equal(t, "execute_tool", call.attribute("gen_ai.operation.name"))
	require.Equal(t, "Bash", call.attribute("gen_ai.tool.name"))
	require.Equal(t, "t1", call.attribute("gen_ai.tool.call.id"))
	require.Equal(t, "ran", call.attribute("hookback.tool.outcome"))
	require.Equal(t, "approve", wait.attribute("hookback.outcome"))
	require.Equal(t, "local user", wait.attribute("hookback.responder.name"))
	require.Equal(t, "false", wait.attribute("hookback.responder.verified"))
	require.Equal(t, time.Minute, duration(t, wait))
	require.Equal(t, 2, failed.Status.Code)
	require.Equal(t, "tool_error", failed.attribute("error.type"))
	require.Zero(t, root.Status.Code)
}

func duration(t testing.TB, s sentSpan) time.Duration {
	start, err := strconv.ParseInt(s.Start, 10, 64)
	require.NoError(t, err)
	end, err := strconv.ParseInt(s.End, 10, 64)
	require.NoError(t, err)
	return time.Duration(end - start)
}

func TestFollower_SendsContentOnRequest(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.content = true
	x.restart()
	x.turn("s1")
	x.steps()
	spans := x.take()
	require.JSONEq(t, `[{"role":"user","parts":[{"type":"text","content":"secret plan"}]}]`, spans["invoke_agent claude-code"][0].attribute("gen_ai.input.messages"))
	x.post("s2", "UserPromptSubmit", `{}`)
	x.post("s2", "StopFailure", `{"error":"rate limit"}`)
	x.steps()
	require.Equal(t, "rate limit", x.take()["invoke_agent shop"][0].attribute("exception.message"))
	require.JSONEq(t, `{"command":"rm secret"}`, spans["execute_tool Bash"][0].attribute("gen_ai.tool.call.arguments"))
	require.Equal(t, "secret reason", spans["execute_tool Read"][0].attribute("exception.message"))
}

func TestFollower_MarksFailureOfAgent(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.post("s1", "UserPromptSubmit", `{"prompt":"p"}`)
	x.post("s1", "StopFailure", `{"error":"secret limit"}`)
	x.steps()
	require.NotContains(t, x.body, "secret")
	root := x.take()["invoke_agent shop"][0]
	require.Equal(t, 2, root.Status.Code)
	require.Equal(t, "agent_error", root.attribute("error.type"))
}

// A denied call ends with the answer, and a question alone is a separate trace.
func TestFollower_SendsDenialAndSingleQuestion(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.answer(x.ask("s1", `,"toolCall":{"id":"t1","name":"Bash","arguments":{}}`), false)
	x.answer(x.ask("s2", ""), true)
	x.steps()
	spans := x.take()
	require.Equal(t, "denied", spans["execute_tool Bash"][0].attribute("hookback.tool.outcome"))
	require.Len(t, spans["invoke_agent shop"], 2)
	require.Len(t, spans["hookback.wait_for_human"], 2)
	require.Equal(t, "deny", spans["hookback.wait_for_human"][0].attribute("hookback.outcome"))
}

// An agent that was killed sends no end: its turn ends after an hour of the log without events.
func TestFollower_EndsSilentTurn(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.post("s1", "UserPromptSubmit", `{"prompt":"p"}`)
	x.post("s1", "PreToolUse", `{"tool_use_id":"t1","tool_name":"Bash"}`)
	x.steps()
	require.Empty(t, x.take())
	x.now = x.now.Add(2 * time.Hour)
	x.post("s2", "SessionStart", `{}`)
	x.steps()
	spans := x.take()
	require.Equal(t, "unknown", spans["execute_tool Bash"][0].attribute("hookback.tool.outcome"))
	require.Len(t, spans["invoke_agent shop"], 1, "the start of a session is no turn")
	require.Equal(t, time.Second, duration(t, spans["invoke_agent shop"][0]))
}

// A turn that is open at a restart is sent whole, with the ids that it would have had, and turns that
// were sent are not sent again.
func TestFollower_SurvivesRestart(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.post("s2", "UserPromptSubmit", `{"prompt":"p"}`)
	x.post("s2", "PreToolUse", `{"tool_use_id":"t9","tool_name":"Grep"}`)
	x.turn("s1")
	x.steps()
	require.Len(t, x.take(), 5)
	for range 2 {
		x.restart()
		x.steps()
		require.Empty(t, x.take())
	}
	x.post("s2", "Stop", `{}`)
	x.steps()
	spans := x.take()
	require.Len(t, spans, 2)
	require.Equal(t, spans["invoke_agent shop"][0].SpanID, spans["execute_tool Grep"][0].Parent)
}

// The collector stored the spans but its answer was lost: they are sent again with equal ids.
func TestFollower_ResendHasEqualIDs(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.turn("s1")
	cursor, _, err := x.db.TraceCursor(t.Context())
	require.NoError(t, err)
	x.steps()
	first := x.take()
	require.NoError(t, x.db.SetTraceCursor(t.Context(), cursor))
	x.restart()
	x.steps()
	require.Equal(t, first, x.take())
}

func TestFollower_BeginsAtEndOfLog(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	other := storetest.Open(t, storetest.Options{Fast: true})
	t.Cleanup(func() { _ = other.Close() })
	x.db = other
	x.hub = hub.New(hub.Config{Store: other, Feed: feed.New(0, 64, 1<<20), Clock: func() time.Time { return x.now }})
	x.turn("old")
	x.restart()
	x.steps()
	require.Zero(t, x.requests)
	x.turn("new")
	x.steps()
	require.Equal(t, "new", x.take()["execute_tool Bash"][0].attribute("gen_ai.conversation.id"))
}

func TestFollower_OpensCircuitBreaker(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.set(http.StatusServiceUnavailable, "")
	x.turn("s1")
	for i := range 5 {
		require.Empty(t, x.Warning())
		_, err := x.Step(t.Context())
		require.ErrorContains(t, err, "503")
		require.Equal(t, i+1, x.requests)
		_, err = x.Step(t.Context())
		require.NoError(t, err, "the next attempt is not due")
		require.Equal(t, i+1, x.requests)
		require.Equal(t, i == 4, x.Stats().IsPaused())
		if i < 4 {
			x.now = x.Stats().RetryAt
		}
	}
	require.Equal(t, time.Minute, x.Stats().RetryAt.Sub(x.now))
	require.Equal(t, "traces are not sent: 5 attempts in a row failed", x.Warning())
	x.now = x.now.Add(time.Minute)
	_, err := x.Step(t.Context())
	require.Error(t, err)
	require.Equal(t, time.Minute, x.Stats().RetryAt.Sub(x.now), "one attempt per minute")
	x.turn("s2")
	x.set(0, "{}")
	x.now = x.now.Add(time.Minute)
	x.steps()
	require.Len(t, x.take()["execute_tool Bash"], 2, "nothing was lost")
	require.False(t, x.Stats().IsPaused())
	require.EqualValues(t, 10, x.Stats().Sent)
	require.EqualValues(t, 6, x.Stats().Failed)
}

// Spans that a collector can't read do not hold up the next ones.
func TestFollower_DropsRejectedSpans(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.set(http.StatusBadRequest, "")
	x.turn("s1")
	x.steps()
	x.set(0, `{"partialSuccess":{"rejectedSpans":"2"}}`)
	x.turn("s2")
	x.steps()
	require.EqualValues(t, 7, x.Stats().Rejected)
	require.EqualValues(t, 3, x.Stats().Sent)
	require.False(t, x.Stats().IsPaused())
}

// Hostile events make no span without an end, and no request that the collector can't read.
func TestFollower_TakesHostileEvents(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.content = true
	x.restart()
	long := strings.Repeat("é", 40_000)
	for _, e := range [][2]string{
		{"UserPromptSubmit", `{"prompt":"` + long + `","model":"` + long + `"}`},
		{"PostToolUse", `{"tool_use_id":"none","tool_name":"Bash"}`},
		{"PreToolUse", `{"tool_name":"` + long + `","tool_use_id":5,"tool_input":"not an object"}`},
		{"PreToolUse", `{"agent_id":"` + long + `","parent_agent_id":"nobody","tool_name":null}`},
		{"SubagentStop", `{"agent_id":"nobody"}`},
		{"SubagentStart", `{"agent_id":["a"]}`},
	} {
		x.post("s1", e[0], e[1])
	}
	for i := range 2100 {
		x.ingest(fmt.Sprintf(`{"source_app":"shop","session_id":"s1","hook_event_type":"PreToolUse","payload":{"tool_name":"T","tool_use_id":"u%d"}}`, i))
	}
	x.post("s1", "Stop", `{}`)
	x.steps()
	spans := x.take()
	total := 0
	for name, list := range spans {
		require.LessOrEqual(t, len(name), 310)
		for _, s := range list {
			total++
			require.NotEmpty(t, s.End)
			require.GreaterOrEqual(t, s.End, s.Start)
		}
	}
	require.Equal(t, 2000, total)
	require.NotEmpty(t, spans["invoke_agent shop"][0].attribute("hookback.dropped_spans"))
}

func TestEndpoint_SendsHeadersOfFile(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.headers = filepath.Join(t.TempDir(), "headers")
	require.NoError(t, os.WriteFile(x.headers, []byte("# key\n\nAuthorization: Bearer a:b\nx-team: one\n"), 0o600))
	x.restart()
	x.turn("s1")
	x.steps()
	require.Equal(t, "Bearer a:b", x.header.Get("Authorization"))
	require.Equal(t, "one", x.header.Get("X-Team"))
}

func TestEndpoint_RejectsInvalidSettings(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "collector:4318", "ftp://c", "http://", "http://a:b@c", "http://c?x=1", "http://c/#x"} {
		_, err := traces.NewEndpoint(address, "", nil)
		require.Error(t, err, address)
	}
	file := filepath.Join(t.TempDir(), "headers")
	require.NoError(t, os.WriteFile(file, []byte("A: b\nsecret value\n"), 0o600))
	_, err := traces.NewEndpoint("http://c", file, nil)
	require.ErrorContains(t, err, "line 2")
	require.NotContains(t, err.Error(), "secret value")
	_, err = traces.NewEndpoint("http://c", file+".none", nil)
	require.Error(t, err)
}

// The hub never sends traces to itself, to metadata services, or where a redirect leads.
func TestEndpoint_IsGuarded(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	own := netip.MustParseAddrPort(strings.TrimPrefix(x.URL, "http://")).Port()
	other := newCollector(t)
	redirect := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/traces", http.StatusTemporaryRedirect))
	t.Cleanup(redirect.Close)
	for address, ports := range map[string][]uint16{x.URL: {own}, "http://169.254.169.254": nil, redirect.URL: nil} {
		endpoint, err := traces.NewEndpoint(address, "", ports)
		require.NoError(t, err)
		x.Follower = traces.New(traces.Config{Store: x.db, Feed: x.feed, Endpoint: endpoint, Clock: func() time.Time { return x.now }})
		x.turn("s1")
		_, err = x.Step(t.Context())
		require.Error(t, err, address)
	}
	require.Zero(t, x.requests+other.requests)
}

func TestFollower_RunSendsWhatIsPosted(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.turn("s1")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error)
	go func() { done <- x.Run(ctx) }()
	require.Eventually(t, func() bool { return x.Stats().Sent == 5 }, 10*time.Second, 5*time.Millisecond)
	stop()
	require.NoError(t, <-done)
}
