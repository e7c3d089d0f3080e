package hub

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// apiRequest is a log record of Claude Code.
func apiRequest(session, agent, model string, n int) string {
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

const claudeCode = `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]}`

func (b *bench) logs(records ...string) TelemetryResult {
	b.t.Helper()
	heard, err := b.OTLPLogs(b.t.Context(), []byte(`{"resourceLogs":[{`+claudeCode+`,"scopeLogs":[{"logRecords":[`+strings.Join(records, ",")+`]}]}]}`), Caller{})
	require.NoError(b.t, err)
	return heard
}

// measures is a metric of so many tokens since the last time.
func (b *bench) measures(session string, at, tokens int) {
	b.t.Helper()
	_, err := b.OTLPMetrics(b.t.Context(), fmt.Appendf(nil, `{"resourceMetrics":[{%s,"scopeMetrics":[{"metrics":[{"name":"claude_code.token.usage","sum":{"aggregationTemporality":1,`+
		`"dataPoints":[{"attributes":[{"key":"session.id","value":{"stringValue":%q}},{"key":"type","value":{"stringValue":"input"}}],"timeUnixNano":"%d000000000","asDouble":%d}]}}]}]}]}`,
		claudeCode, session, at, tokens), Caller{})
	require.NoError(b.t, err)
}

func (b *bench) hook(app, session, typ, payload string) {
	b.t.Helper()
	b.post(fmt.Sprintf(`{"source_app":%q,"session_id":%q,"hook_event_type":%q,"payload":%s}`, app, session, typ, payload))
}

// sessions are all there are, by application and id.
func (b *bench) sessions() map[store.SessionKey]schema.Session {
	b.t.Helper()
	page, err := b.Sessions(b.t.Context(), store.SessionFilter{Limit: schema.MaxSessions})
	require.NoError(b.t, err)
	all := map[store.SessionKey]schema.Session{}
	for _, s := range page.Sessions {
		all[store.SessionKey{App: s.SourceApp, Session: s.SessionID}] = s
	}
	return all
}

// TestTelemetryJoinsItsSession: whoever comes first, hooks or telemetry, and however
// much of the log the follower takes at a time, it is one session.
func TestTelemetryJoinsItsSession(t *testing.T) {
	t.Parallel()
	hooks := func(b *bench) {
		b.hook("api", "s1", "SessionStart", `{"cwd":"/src/api"}`)
		b.hook("api", "s1", "UserPromptSubmit", `{"prompt":"go"}`)
	}
	telemetry := func(b *bench) {
		require.Equal(b.t, TelemetryResult{Stored: 2}, b.logs(apiRequest("s1", "", "opus", 1), apiRequest("s1", "a", "haiku", 2)))
	}
	for name, steps := range map[string][]func(*bench){
		"hooks first":     {hooks, telemetry},
		"telemetry first": {telemetry, hooks},
		"in between": {
			func(b *bench) { b.logs(apiRequest("s1", "", "opus", 1)) }, hooks, func(b *bench) { b.logs(apiRequest("s1", "a", "haiku", 2)) },
		},
		"under the other name, though hooks were there": {hooks, func(b *bench) {
			for i, agent := range []string{"", "a"} {
				b.hook("claude-code", "s1", "ApiRequest", fmt.Sprintf(
					`{"model":"m%d","agent_id":%q,"usage":{"input_tokens":100,"output_tokens":10},"cost_usd":0.25}`, i, agent))
			}
		}},
	} {
		for _, often := range []bool{true, false} {
			b := setup(t)
			f := b.follower()
			for _, step := range steps {
				step(b)
				if often {
					b.catchUp(f)
				}
			}
			b.catchUp(f)
			all := b.sessions()
			require.Len(t, all, 1, name)
			s := all[store.SessionKey{App: "api", Session: "s1"}]
			require.Equal(t, "go", s.Title, name)
			require.Equal(t, &schema.Tokens{Input: 200, Output: 20}, s.Tokens, name)
			require.InDelta(t, 0.5, s.CostUSD, 1e-9, name)
			require.EqualValues(t, 4, s.Events, name)
			detail, err := b.Session(t.Context(), store.SessionKey{App: "api", Session: "s1"})
			require.NoError(t, err)
			require.Len(t, detail.Models, 2, name)
			require.Len(t, detail.Agents, 2, name)
			require.Equal(t, &schema.Tokens{Input: 100, Output: 10}, detail.Agents[1].Tokens, name)

			o, err := b.Overview(t.Context(), 1, time.UTC)
			require.NoError(t, err)
			require.Len(t, o.Agents, 1, name)
			require.Equal(t, "api", o.Agents[0].SourceApp)
			require.Equal(t, &schema.Tokens{Input: 200, Output: 20}, o.Agents[0].Tokens, name)
			require.InDelta(t, 0.5, o.Agents[0].CostUSD, 1e-9, name)
			require.EqualValues(t, 4, o.Agents[0].Events, name)
		}
	}
}

// TestTelemetryAlone is a session, too, under the agent's own name.
func TestTelemetryAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.logs(apiRequest("s1", "", "opus", 1))
	b.measures("s2", 1, 70)
	b.catchUp(b.follower())
	all := b.sessions()
	require.Len(t, all, 2)
	require.EqualValues(t, 100, all[store.SessionKey{App: "claude-code", Session: "s1"}].Tokens.Input)
	require.EqualValues(t, 70, all[store.SessionKey{App: "claude-code", Session: "s2"}].Tokens.Input)
}

// TestTwoSessionsOfOneName stay two: the later one has the telemetry.
func TestTwoSessionsOfOneName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follower()
	b.hook("one", "s1", "UserPromptSubmit", `{"prompt":"first"}`)
	b.hook("two", "s1", "UserPromptSubmit", `{"prompt":"second"}`)
	b.catchUp(f)
	b.logs(apiRequest("s1", "", "opus", 1))
	b.catchUp(f)
	all := b.sessions()
	require.Len(t, all, 2)
	require.Nil(t, all[store.SessionKey{App: "one", Session: "s1"}].Tokens)
	require.EqualValues(t, 100, all[store.SessionKey{App: "two", Session: "s1"}].Tokens.Input)
}

// TestRecordsInAnyOrder: an exporter that gets no answer sends again, and several
// signals tell the same requests. The sums are the same.
func TestRecordsInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := setup(t)
		f := b.follower()
		var steps []func()
		for n := range 12 {
			for range 1 + rng.IntN(3) {
				steps = append(steps, func() { b.logs(apiRequest("s1", []string{"", "a"}[n%2], "opus", n)) })
			}
		}
		for minute := range 3 {
			for range 1 + rng.IntN(2) {
				steps = append(steps, func() { b.measures("s1", minute+1, 300) })
			}
		}
		steps = append(steps,
			func() { b.hook("api", "s1", "StatusLine", `{"cost":{"total_cost_usd":3.5}}`) },
			func() { b.hook("api", "s1", "PreToolUse", `{"tool_name":"Bash"}`) }, func() { b.catchUp(f) }, func() { b.catchUp(f) })
		rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, step := range steps {
			step()
		}
		b.catchUp(f)
		all := b.sessions()
		require.Len(t, all, 1, seed)
		s := all[store.SessionKey{App: "api", Session: "s1"}]
		require.Equal(t, &schema.Tokens{Input: 1200, Output: 120}, s.Tokens, seed)
		require.InDelta(t, 3.5, s.CostUSD, 1e-9, seed)
		require.EqualValues(t, 12+3+2, s.Events, "what is repeated is one event")
		detail, err := b.Session(t.Context(), store.SessionKey{App: "api", Session: "s1"})
		require.NoError(t, err)
		require.EqualValues(t, 12, detail.Models[0].Requests, seed)
		i := slices.IndexFunc(detail.Agents, func(n schema.AgentNode) bool { return n.AgentID == "a" })
		require.EqualValues(t, 6, detail.Agents[i].Requests, seed)
	}
}

// TestTelemetryThatIsNone says so, and stores nothing.
func TestTelemetryThatIsNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.OTLPLogs(t.Context(), []byte(`[1]`), Caller{})
	require.ErrorIs(t, err, schema.ErrInvalid)
	require.Equal(t, TelemetryResult{Ignored: 1}, b.logs(`{"body":{"stringValue":"claude_code.tool_result"}}`))
	require.Equal(t, TelemetryResult{Rejected: 1}, b.logs(strings.Replace(apiRequest("x", "", "opus", 1), `"stringValue":"x"`, `"stringValue":""`, 1)))
	require.Zero(t, b.Store.Head())
}
