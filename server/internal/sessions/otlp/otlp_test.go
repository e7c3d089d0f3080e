package otlp_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
)

// formatEvent formats an event as one line: agent, session, type, subagent and payload.
func formatEvent(e schema.Event) string {
	return fmt.Sprintf("%s %s %s %s/%s %s", e.Agent, e.SessionID, e.HookEventType, e.AgentType, e.AgentID, e.Payload)
}

func readTestdata(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return body
}

// TestBatch_RecordedClaudeCode reads what Claude Code 2.1.330 sent for nested agents, recorded
// with a model on loopback.
func TestBatch_RecordedClaudeCode(t *testing.T) {
	t.Parallel()
	b, err := otlp.Logs(readTestdata(t, "claude-code-2.1.330-logs.json"))
	require.NoError(t, err)
	require.Equal(t, 15, b.Ignored, "reported by hooks")
	require.Zero(t, b.Rejected)
	require.Len(t, b.Events, 4)
	e := b.Events[1]
	require.Equal(t, "claude-code 27d6204e-8fb3-43cb-bb1a-230145f36ba2 ApiRequest general-purpose/a16dd7d4583966b1c "+
		`{"model":"claude-opus-5-5","usage":{"input_tokens":1200,"output_tokens":77,"cache_read_input_tokens":9000,"cache_creation_input_tokens":300},`+
		`"cost_usd":0.00964,"duration_ms":15,"ttft_ms":8,"request_id":"req_ny7ebwrqik","prompt_id":"`+payloadField(t, e, "prompt_id")+`",`+
		`"query_source":"agent:builtin:general-purpose","effort":"medium","sequence":`+payloadField(t, e, "sequence")+`}`, formatEvent(e))
	require.EqualValues(t, 1795276106791, e.Timestamp)
	require.Equal(t, "claude-opus-5-5", e.ModelName)
	require.Equal(t, "claude-opus-5-5: 10.5k in, 77 out, $0.0096", e.Summary)
	require.Empty(t, b.Events[0].AgentID, "the main agent")

	b, err = otlp.Metrics(readTestdata(t, "claude-code-2.1.330-metrics.json"))
	require.NoError(t, err)
	require.Equal(t, 2, b.Ignored)
	require.Len(t, b.Events, 1, "one event per export")
	require.Equal(t, "claude-code 27d6204e-8fb3-43cb-bb1a-230145f36ba2 ApiUsage / "+
		`{"series":[{"model":"claude-opus-5-5","query_source":"main","from":1795276106709,`+
		`"usage":{"input_tokens":3600,"output_tokens":231,"cache_read_input_tokens":27000,"cache_creation_input_tokens":900},"cost_usd":0.028919999999999998},`+
		`{"model":"claude-opus-5-5","query_source":"subagent","from":1795276106790,`+
		`"usage":{"input_tokens":10800,"output_tokens":693,"cache_read_input_tokens":81000,"cache_creation_input_tokens":2700},"cost_usd":0.08675999999999998}]}`,
		formatEvent(b.Events[0]))
	require.Equal(t, "126.0k in, 924 out, $0.1157", b.Events[0].Summary)
}

func payloadField(t *testing.T, e schema.Event, name string) string {
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(e.Payload, &all))
	return strings.Trim(string(all[name]), `"`)
}

// logBody returns a body with one log record.
func logBody(service, name string, attributes ...string) string {
	list := []string{attributeJSON("event.name", `{"stringValue":"`+name+`"}`)}
	for i := 0; i+1 < len(attributes); i += 2 {
		list = append(list, attributeJSON(attributes[i], attributes[i+1]))
	}
	return `{"resourceLogs":[{"resource":{"attributes":[` + attributeJSON("service.name", `{"stringValue":"`+service+`"}`) + `]},"scopeLogs":[{"logRecords":[` +
		`{"timeUnixNano":"1700000000000000000","attributes":[` + strings.Join(list, ",") + `]}]}]}]}`
}

func attributeJSON(key, value string) string { return `{"key":"` + key + `","value":` + value + `}` }

const sessionValue = `{"stringValue":"s1"}`

// TestLogs_OtherAgents: the events have the form that package digest reads, without cached
// tokens in the input.
func TestLogs_OtherAgents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"codex": {
			logBody("codex_cli_rs", "codex.sse_event", "event.kind", `{"stringValue":"response.completed"}`, "conversation.id", sessionValue, "model", `{"stringValue":"gpt-5.5"}`,
				"input_token_count", `{"intValue":"100"}`, "cached_token_count", `{"intValue":"40"}`, "output_token_count", `{"intValue":"10"}`),
			`codex s1 ApiRequest / {"model":"gpt-5.5","usage":{"input_tokens":60,"output_tokens":10,"cache_read_input_tokens":40}}`,
		},
		"gemini": {
			logBody("gemini-cli", "gemini_cli.api_response", "session.id", sessionValue, "model", `{"stringValue":"gemini-3-pro"}`, "duration_ms", `{"doubleValue":120.5}`,
				"input_token_count", `{"intValue":12000}`, "cached_content_token_count", `{"intValue":8000}`, "output_token_count", `{"intValue":350}`, "thoughts_token_count", `{"intValue":420}`),
			`gemini s1 ApiRequest / {"model":"gemini-3-pro","usage":{"input_tokens":4000,"output_tokens":770,"cache_read_input_tokens":8000},"duration_ms":120}`,
		},
		"a request that failed": {
			logBody("claude-code", "claude_code.api_error", "session.id", sessionValue, "model", `{"stringValue":"m"}`, "error", `{"stringValue":"Overloaded"}`,
				"status_code", `{"stringValue":"529"}`, "attempt", `{"intValue":11}`),
			`claude-code s1 ApiError / {"model":"m","error":"Overloaded","status_code":529,"attempt":11}`,
		},
	} {
		b, err := otlp.Logs([]byte(c.body))
		require.NoError(t, err, name)
		require.Len(t, b.Events, 1, name)
		require.Equal(t, c.want, formatEvent(b.Events[0]), name)
	}
	for name, body := range map[string]string{
		"another event of Codex":         logBody("codex_cli_rs", "codex.sse_event", "event.kind", `{"stringValue":"response.created"}`, "conversation.id", sessionValue),
		"another service with this name": logBody("shop", "claude_code.api_request", "session.id", sessionValue),
		"another service":                logBody("shop", "order.placed", "session.id", sessionValue),
	} {
		b, err := otlp.Logs([]byte(body))
		require.NoError(t, err, name)
		require.Equal(t, otlp.Batch{Ignored: 1}, b, name)
	}
	b, err := otlp.Logs([]byte(logBody("claude-code", "claude_code.api_request", "model", `{"stringValue":"m"}`)))
	require.NoError(t, err)
	require.Equal(t, otlp.Batch{Rejected: 1}, b, "no session id")
}

// TestIdempotencyKey_DistinguishesRecords: a repeated record has the same key, any other record
// another.
func TestIdempotencyKey_DistinguishesRecords(t *testing.T) {
	t.Parallel()
	keyOf := func(attrs ...string) string {
		b, err := otlp.Logs([]byte(logBody("claude-code", "claude_code.api_request", append([]string{"session.id", sessionValue}, attrs...)...)))
		require.NoError(t, err)
		return b.Events[0].IdempotencyKey
	}
	first := keyOf("request_id", `{"stringValue":"r1"}`)
	require.Equal(t, first, keyOf("request_id", `{"stringValue":"r1"}`))
	seen := map[string]bool{}
	for _, attrs := range [][]string{
		{}, {"request_id", `{"stringValue":"r1"}`}, {"request_id", `{"stringValue":"r2"}`}, {"event.sequence", `{"intValue":1}`}, {"event.sequence", `{"intValue":2}`},
		{"agent_id", `{"stringValue":"a"}`}, {"output_tokens", `{"intValue":5}`},
	} {
		key := keyOf(attrs...)
		require.False(t, seen[key], "%v", attrs)
		require.Less(t, len(key), schema.MaxName)
		seen[key] = true
	}
}

// TestMetrics_CumulativeSeries: a cumulative series has an identity and a start time.
func TestMetrics_CumulativeSeries(t *testing.T) {
	t.Parallel()
	body := `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"claude_code.cost.usage","sum":{"dataPoints":[{"attributes":[` + attributeJSON("session.id", sessionValue) + `],` +
		`"startTimeUnixNano":"1000000000","timeUnixNano":"2000000000","asDouble":0.5}],"aggregationTemporality":"AGGREGATION_TEMPORALITY_CUMULATIVE"}},` +
		`{"name":"claude_code.token.usage","gauge":{"dataPoints":[{}]}}]}],"resource":{"attributes":[` + attributeJSON("service.name", `{"stringValue":"claude-code"}`) + `]}}]}`
	b, err := otlp.Metrics([]byte(body))
	require.NoError(t, err)
	require.Equal(t, 1, b.Ignored, "gauges are not counted")
	require.Equal(t, `claude-code s1 ApiUsage / {"series":[{"total":"|||||1000","from":1000,"cost_usd":0.5}]}`, formatEvent(b.Events[0]))
}

// TestBatch_RejectsTooManyRecords: a batch over the limit is rejected as a whole.
func TestBatch_RejectsTooManyRecords(t *testing.T) {
	t.Parallel()
	items := "[" + strings.TrimSuffix(strings.Repeat(`{},`, otlp.MaxRecords+1), ",") + "]"
	_, err := otlp.Logs([]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":` + items + `}]}]}`))
	require.ErrorIs(t, err, otlp.ErrMalformed)
	points := `{"name":"claude_code.token.usage","sum":{"aggregationTemporality":1,"dataPoints":` + items + `}}`
	_, err = otlp.Metrics([]byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[` + points + `]}]}]}`))
	require.ErrorIs(t, err, otlp.ErrMalformed)
}

// TestBatch_InvalidBodies: unreadable bodies are errors, and nothing panics or grows.
func TestBatch_InvalidBodies(t *testing.T) {
	t.Parallel()
	good := string(readTestdata(t, "claude-code-2.1.330-logs.json"))
	deep := strings.Repeat(`{"arrayValue":{"values":[`, 5000)
	for name, body := range map[string]string{
		"nothing": ``, "no JSON": `resourceLogs`, "an array": `[]`, "a text": `"x"`, "null": `null`, "half": good[:len(good)/2], "twice": `{}{}`,
		"not closed": `{"resourceLogs":[`, "protobuf": "\x0a\x7f\x0a\x10", "deep": logBody("claude-code", "x", "a", deep),
	} {
		for _, read := range []func([]byte) (otlp.Batch, error){otlp.Logs, otlp.Metrics} {
			b, err := read([]byte(body))
			require.ErrorIs(t, err, otlp.ErrMalformed, name)
			require.Empty(t, b.Events, name)
		}
	}
	for name, body := range map[string]string{
		"no records":        `{}`,
		"wrong types":       `{"resourceLogs":{"a":1},"resourceMetrics":7}`,
		"wrong inner types": `{"resourceLogs":[1,null,{"resource":[],"scopeLogs":[{"logRecords":"x"},{"logRecords":[7,{"attributes":{},"body":[],"timeUnixNano":{}}]}]}]}`,
	} {
		b, err := otlp.Logs([]byte(body))
		require.NoError(t, err, name)
		require.Empty(t, b.Events, name)
	}
	for name, value := range map[string]string{
		"negative": `{"intValue":-5}`, "text": `{"stringValue":"many"}`, "huge": `{"doubleValue":1e300}`, "not a number": `{"doubleValue":"NaN"}`, "infinite": `{"doubleValue":"Infinity"}`,
		"a list": `{"arrayValue":{"values":[{"intValue":1}]}}`, "nothing": `{}`, "null": `null`,
	} {
		b, err := otlp.Logs([]byte(logBody("claude-code", "claude_code.api_request", "session.id", sessionValue, "input_tokens", value, "cost_usd", value, "duration_ms", value)))
		require.NoError(t, err, name)
		require.Equal(t, `claude-code s1 ApiRequest / {"usage":{"input_tokens":0,"output_tokens":0}}`, formatEvent(b.Events[0]), name)
	}
	long := strings.Repeat("é", 5000)
	b, err := otlp.Logs([]byte(logBody("claude-code", "claude_code.api_request", "session.id", sessionValue, "model", `{"stringValue":"`+long+`"}`)))
	require.NoError(t, err)
	require.Len(t, b.Events[0].ModelName, 300)
	attrs := make([]string, 0, 20_000)
	for i := range 10_000 {
		attrs = append(attrs, fmt.Sprint("k", i), `{"intValue":1}`)
	}
	b, err = otlp.Logs([]byte(logBody("claude-code", "claude_code.api_request", append(attrs, "session.id", sessionValue)...)))
	require.NoError(t, err)
	require.Equal(t, 1, b.Rejected, "only 256 attributes are read")
}

// TestMetrics_CorruptBodies reads the recorded body with changed, removed and duplicated bytes.
func TestMetrics_CorruptBodies(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	good := readTestdata(t, "claude-code-2.1.330-metrics.json")
	for range 300 {
		body := append([]byte(nil), good...)
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(body))
			switch rng.IntN(3) {
			case 0:
				body[at] = byte(rng.IntN(256))
			case 1:
				body = append(body[:at], body[min(len(body), at+rng.IntN(40)):]...)
			case 2:
				body = append(body[:at:at], append(body[max(0, at-rng.IntN(40)):at:at], body[at:]...)...)
			}
			if len(body) == 0 {
				break
			}
		}
		b, err := otlp.Metrics(body)
		if err != nil {
			require.ErrorIs(t, err, otlp.ErrMalformed)
		}
		for _, e := range b.Events {
			require.NoError(t, e.Validate())
		}
	}
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte(logBody("claude-code", "claude_code.api_request", "session.id", sessionValue)))
	f.Add([]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, read := range []func([]byte) (otlp.Batch, error){otlp.Logs, otlp.Metrics} {
			b, err := read(body)
			if err != nil {
				require.ErrorIs(t, err, otlp.ErrMalformed)
			}
			for _, e := range b.Events {
				require.True(t, json.Valid(e.Payload))
			}
		}
	})
}
