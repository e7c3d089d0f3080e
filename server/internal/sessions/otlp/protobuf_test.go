package otlp_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hookback/hookback/server/internal/sessions/otlp"
)

// protobufOf converts a body from JSON to protobuf with the messages that the authors of the
// standard generate.
func protobufOf(t *testing.T, body []byte, into proto.Message) []byte {
	t.Helper()
	require.NoError(t, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, into))
	b, err := proto.Marshal(into)
	require.NoError(t, err)
	return b
}

func TestProtobuf_YieldsTheEventsOfJSON(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"claude-code": readTestdata(t, "claude-code-2.1.330-logs.json"),
		"codex": []byte(logBody("codex_cli_rs", "codex.sse_event", "event.kind", `{"stringValue":"response.completed"}`, "conversation.id", sessionValue,
			"input_token_count", `{"intValue":"900"}`, "cached_token_count", `{"intValue":"600"}`, "output_token_count", `{"intValue":"-7"}`)),
		"gemini": []byte(logBody("gemini-cli", "gemini_cli.api_error", "session.id", sessionValue, "error", `{"stringValue":"Überlastet"}`,
			"status_code", `{"intValue":"529"}`, "duration_ms", `{"doubleValue":12.75}`, "retry", `{"boolValue":true}`)),
		"no session": []byte(logBody("claude-code", "claude_code.api_request", "cost_usd", `{"doubleValue":0.25}`)),
		"other":      []byte(logBody("nginx", "access")),
		"observed":   []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"observedTimeUnixNano":"1700000000000000000","eventName":"x.y"}]}]}]}`),
		"empty":      []byte(`{}`),
	} {
		want, err := otlp.Logs(body)
		require.NoError(t, err, name)
		got, err := otlp.LogsProtobuf(protobufOf(t, body, &logs.LogsData{}))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	for name, body := range map[string][]byte{
		"claude-code": readTestdata(t, "claude-code-2.1.330-metrics.json"),
		"other types": []byte(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]},"scopeMetrics":[{"metrics":[
			{"name":"claude_code.token.usage","gauge":{"dataPoints":[]}},{"name":"a","histogram":{}},{"name":"b","summary":{}},{"name":"c","exponentialHistogram":{}},
			{"name":"claude_code.cost.usage","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"startTimeUnixNano":"1700000000000000000",
			"timeUnixNano":"1700000060000000000","asDouble":0.5,"attributes":[{"key":"session.id","value":{"stringValue":"s1"}},{"key":"model","value":{"stringValue":"m"}}]}]}}]}]}]}`),
		"int points": []byte(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]},"scopeMetrics":[{"metrics":[
			{"name":"claude_code.token.usage","sum":{"aggregationTemporality":1,"dataPoints":[{"timeUnixNano":"1700000060000000000","asInt":"77","attributes":[
			{"key":"session.id","value":{"stringValue":"s1"}},{"key":"type","value":{"stringValue":"output"}}]},{"asInt":"1"}]}}]}]}]}`),
	} {
		want, err := otlp.Metrics(body)
		require.NoError(t, err, name)
		got, err := otlp.MetricsProtobuf(protobufOf(t, body, &metrics.MetricsData{}))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	spans := []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"},{"name":"b"}]}]}]}`)
	want, err := otlp.Spans(spans)
	require.NoError(t, err)
	got, err := otlp.SpansProtobuf(protobufOf(t, spans, &trace.TracesData{}))
	require.NoError(t, err)
	require.Equal(t, otlp.Batch{Ignored: 2}, got)
	require.Equal(t, want, got)
}

// message returns a field that contains a message or text.
func message(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

func TestProtobuf_RejectsMalformedBodies(t *testing.T) {
	t.Parallel()
	record := func(fields []byte) []byte { return message(1, message(2, message(2, fields))) }
	for name, body := range map[string][]byte{
		"JSON":            []byte(`{"resourceLogs":[]}`),
		"cut":             record(message(6, message(1, []byte("key"))))[:9],
		"length too long": {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"field 0":         {0x02, 0x00},
		"no UTF-8":        record(message(6, message(1, []byte{0xff}))),
		"end of a group":  {0x0c},
		"attributes":      record(bytes.Repeat(message(6, nil), 64*otlp.MaxRecords+1)),
		"too many":        message(1, message(2, bytes.Repeat(message(2, nil), otlp.MaxRecords+1))),
	} {
		_, err := otlp.LogsProtobuf(body)
		require.ErrorIs(t, err, otlp.ErrMalformed, name)
	}
	points := message(1, message(2, message(2, message(7, bytes.Repeat(message(1, nil), otlp.MaxRecords+1)))))
	_, err := otlp.MetricsProtobuf(points)
	require.ErrorIs(t, err, otlp.ErrMalformed, "data points")
	mistyped := protowire.AppendVarint(protowire.AppendTag(nil, 6, protowire.VarintType), 1)
	b, err := otlp.LogsProtobuf(record(append(mistyped, message(99, []byte("future"))...)))
	require.NoError(t, err, "unknown fields and types are skipped")
	require.Equal(t, 1, b.Ignored)
}

// FuzzProtobuf compares the readers with the generated messages: a body that those reject is
// rejected, and one that both take has the same records.
func FuzzProtobuf(f *testing.F) {
	f.Add([]byte{})
	f.Add(message(1, message(2, message(2, nil))))
	f.Add(message(1, append(message(1, message(1, message(1, []byte("service.name")))), message(2, message(2, message(6, nil)))...)))
	f.Fuzz(func(t *testing.T, body []byte) {
		var all logs.LogsData
		got, err := otlp.LogsProtobuf(body)
		if proto.Unmarshal(body, &all) != nil || err != nil {
			return // the generated messages also check skipped fields
		}
		records := 0
		for _, source := range all.ResourceLogs {
			for _, scope := range source.ScopeLogs {
				records += len(scope.LogRecords)
			}
		}
		require.Equal(t, records, len(got.Events)+got.Ignored+got.Rejected, "%x", body)
		_, _ = otlp.MetricsProtobuf(body)
	})
}
