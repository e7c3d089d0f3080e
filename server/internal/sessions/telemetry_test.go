package sessions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
	"github.com/hookback/hookback/server/internal/store"
)

// apiRequestRecord returns an OTLP log record of Claude Code about the n-th API request.
func apiRequestRecord(session, agent, model string, n int) string {
	attribute := func(key, value string) string {
		return `{"key":"` + key + `","value":{"stringValue":"` + value + `"}}`
	}
	list := []string{
		attribute("event.name", "api_request"), attribute("session.id", session), attribute("model", model), attribute("request_id", fmt.Sprint("req_", n)),
		attribute("input_tokens", "100"), attribute("output_tokens", "10"), attribute("cost_usd", "0.25"),
	}
	if agent != "" {
		list = append(list, attribute("agent_id", agent), attribute("agent.name", "Explore"))
	}
	return fmt.Sprintf(`{"timeUnixNano":"%d","body":{"stringValue":"claude_code.api_request"},"attributes":[%s]}`,
		1_700_000_000_000_000_000+int64(n)*1_000_000, strings.Join(list, ","))
}

const claudeCodeResource = `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]}`

func (h *testHub) postLogs(records ...string) hub.TelemetryResult {
	h.t.Helper()
	heard, err := h.hub.IngestTelemetry(h.t.Context(), otlp.Logs, []byte(`{"resourceLogs":[{`+claudeCodeResource+`,"scopeLogs":[{"logRecords":[`+strings.Join(records, ",")+`]}]}]}`), hub.Caller{})
	require.NoError(h.t, err)
	return heard
}

// postTokenMetric posts a delta metric of input tokens.
func (h *testHub) postTokenMetric(session string, at, tokens int) {
	h.t.Helper()
	_, err := h.hub.IngestTelemetry(h.t.Context(), otlp.Metrics, fmt.Appendf(nil, `{"resourceMetrics":[{%s,"scopeMetrics":[{"metrics":[{"name":"claude_code.token.usage","sum":{"aggregationTemporality":1,`+
		`"dataPoints":[{"attributes":[{"key":"session.id","value":{"stringValue":%q}},{"key":"type","value":{"stringValue":"input"}}],"timeUnixNano":"%d000000000","asDouble":%d}]}}]}]}]}`,
		claudeCodeResource, session, at, tokens), hub.Caller{})
	require.NoError(h.t, err)
}

func (h *testHub) postHook(app, session, typ, payload string) {
	h.t.Helper()
	h.post(fmt.Sprintf(`{"source_app":%q,"session_id":%q,"hook_event_type":%q,"payload":%s}`, app, session, typ, payload))
}

// allSessions returns all sessions by application and id.
func (h *testHub) allSessions() map[store.SessionKey]history.Session {
	h.t.Helper()
	page, err := h.Sessions(h.t.Context(), store.SessionFilter{Limit: history.MaxSessions})
	require.NoError(h.t, err)
	all := map[store.SessionKey]history.Session{}
	for _, s := range page.Sessions {
		all[store.SessionKey{App: s.SourceApp, Session: s.SessionID}] = s
	}
	return all
}

// TestTelemetry_JoinsHookSession: hooks and telemetry form one session, whichever comes
// first and in however many batches the projector reads them.
func TestTelemetry_JoinsHookSession(t *testing.T) {
	t.Parallel()
	hooks := func(h *testHub) {
		h.postHook("api", "s1", "SessionStart", `{"cwd":"/src/api"}`)
		h.postHook("api", "s1", "UserPromptSubmit", `{"prompt":"go"}`)
	}
	telemetry := func(h *testHub) {
		require.Equal(h.t, hub.TelemetryResult{Stored: 2}, h.postLogs(apiRequestRecord("s1", "", "opus", 1), apiRequestRecord("s1", "a", "haiku", 2)))
	}
	for name, steps := range map[string][]func(*testHub){
		"hooks first":     {hooks, telemetry},
		"telemetry first": {telemetry, hooks},
		"interleaved": {
			func(h *testHub) { h.postLogs(apiRequestRecord("s1", "", "opus", 1)) }, hooks, func(h *testHub) { h.postLogs(apiRequestRecord("s1", "a", "haiku", 2)) },
		},
		"telemetry under the agent's name after hooks": {hooks, func(h *testHub) {
			for i, agent := range []string{"", "a"} {
				h.postHook("claude-code", "s1", "ApiRequest", fmt.Sprintf(
					`{"model":"m%d","agent_id":%q,"usage":{"input_tokens":100,"output_tokens":10},"cost_usd":0.25}`, i, agent))
			}
		}},
	} {
		for _, often := range []bool{true, false} {
			h := newTestHub(t)
			f := h.newProjector()
			for _, step := range steps {
				step(h)
				if often {
					h.catchUp(f)
				}
			}
			h.catchUp(f)
			all := h.allSessions()
			require.Len(t, all, 1, name)
			s := all[store.SessionKey{App: "api", Session: "s1"}]
			require.Equal(t, "go", s.Title, name)
			require.Equal(t, &history.Tokens{Input: 200, Output: 20}, s.Tokens, name)
			require.InDelta(t, 0.5, s.CostUSD, 1e-9, name)
			require.EqualValues(t, 4, s.Events, name)
			detail, err := h.Session(t.Context(), store.SessionKey{App: "api", Session: "s1"})
			require.NoError(t, err)
			require.Len(t, detail.Models, 2, name)
			require.Len(t, detail.Agents, 2, name)
			require.Equal(t, &history.Tokens{Input: 100, Output: 10}, detail.Agents[1].Tokens, name)

			o, err := h.Overview(t.Context(), 1, time.UTC)
			require.NoError(t, err)
			require.Len(t, o.Agents, 1, name)
			require.Equal(t, "api", o.Agents[0].SourceApp)
			require.Equal(t, &history.Tokens{Input: 200, Output: 20}, o.Agents[0].Tokens, name)
			require.InDelta(t, 0.5, o.Agents[0].CostUSD, 1e-9, name)
			require.EqualValues(t, 4, o.Agents[0].Events, name)
		}
	}
}

// TestTelemetry_FormsOwnSession: telemetry without hooks is a session of the agent.
func TestTelemetry_FormsOwnSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.postLogs(apiRequestRecord("s1", "", "opus", 1))
	h.postTokenMetric("s2", 1, 70)
	h.catchUp(h.newProjector())
	all := h.allSessions()
	require.Len(t, all, 2)
	require.EqualValues(t, 100, all[store.SessionKey{App: "claude-code", Session: "s1"}].Tokens.Input)
	require.EqualValues(t, 70, all[store.SessionKey{App: "claude-code", Session: "s2"}].Tokens.Input)
}

// TestTelemetry_GoesToLaterSession: of two sessions with the same id, the later one gets the
// telemetry.
func TestTelemetry_GoesToLaterSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	f := h.newProjector()
	h.postHook("one", "s1", "UserPromptSubmit", `{"prompt":"first"}`)
	h.postHook("two", "s1", "UserPromptSubmit", `{"prompt":"second"}`)
	h.catchUp(f)
	h.postLogs(apiRequestRecord("s1", "", "opus", 1))
	h.catchUp(f)
	all := h.allSessions()
	require.Len(t, all, 2)
	require.Nil(t, all[store.SessionKey{App: "one", Session: "s1"}].Tokens)
	require.EqualValues(t, 100, all[store.SessionKey{App: "two", Session: "s1"}].Tokens.Input)
}

// TestTelemetry_IgnoresOrderAndRepeats: exporters retry, and several signals report the same
// requests. The sums do not depend on either.
func TestTelemetry_IgnoresOrderAndRepeats(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := newTestHub(t)
		f := h.newProjector()
		var steps []func()
		for n := range 12 {
			for range 1 + rng.IntN(3) {
				steps = append(steps, func() { h.postLogs(apiRequestRecord("s1", []string{"", "a"}[n%2], "opus", n)) })
			}
		}
		for minute := range 3 {
			for range 1 + rng.IntN(2) {
				steps = append(steps, func() { h.postTokenMetric("s1", minute+1, 300) })
			}
		}
		steps = append(steps,
			func() { h.postHook("api", "s1", "StatusLine", `{"cost":{"total_cost_usd":3.5}}`) },
			func() { h.postHook("api", "s1", "PreToolUse", `{"tool_name":"Bash"}`) }, func() { h.catchUp(f) }, func() { h.catchUp(f) })
		rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, step := range steps {
			step()
		}
		h.catchUp(f)
		all := h.allSessions()
		require.Len(t, all, 1, seed)
		s := all[store.SessionKey{App: "api", Session: "s1"}]
		require.Equal(t, &history.Tokens{Input: 1200, Output: 120}, s.Tokens, seed)
		require.InDelta(t, 3.5, s.CostUSD, 1e-9, seed)
		require.EqualValues(t, 12+3+2, s.Events, "a repeated record is one event")
		detail, err := h.Session(t.Context(), store.SessionKey{App: "api", Session: "s1"})
		require.NoError(t, err)
		require.EqualValues(t, 12, detail.Models[0].Requests, seed)
		i := slices.IndexFunc(detail.Agents, func(n history.AgentNode) bool { return n.AgentID == "a" })
		require.EqualValues(t, 6, detail.Agents[i].Requests, seed)
	}
}

// TestTelemetry_CountsIgnoredAndRejected: records that are not stored are counted.
func TestTelemetry_CountsIgnoredAndRejected(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	_, err := h.hub.IngestTelemetry(t.Context(), otlp.Logs, []byte(`[1]`), hub.Caller{})
	require.ErrorIs(t, err, schema.ErrInvalid)
	require.Equal(t, hub.TelemetryResult{Ignored: 1}, h.postLogs(`{"body":{"stringValue":"claude_code.tool_result"}}`))
	require.Equal(t, hub.TelemetryResult{Rejected: 1}, h.postLogs(strings.Replace(apiRequestRecord("x", "", "opus", 1), `"stringValue":"x"`, `"stringValue":""`, 1)))
	require.Zero(t, h.Store.Head())
}
