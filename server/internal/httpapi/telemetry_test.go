package httpapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hookback/hookback/schema"
)

// logRecords returns an OTLP body with these Claude Code records, each a name and a session
// id.
func logRecords(records ...[2]string) string {
	list := make([]string, 0, len(records))
	for i, r := range records {
		list = append(list, fmt.Sprintf(`{"timeUnixNano":"%d","body":{"stringValue":"claude_code.%s"},"attributes":[{"key":"session.id","value":{"stringValue":"%s"}}]}`,
			1_700_000_000_000_000_000+i, r[0], r[1]))
	}
	return `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]},"scopeLogs":[{"logRecords":[` + strings.Join(list, ",") + `]}]}]}`
}

func TestTelemetry_FollowsOTLPResponses(t *testing.T) {
	t.Parallel()
	r := setup(t)
	send := func(path, body string) string {
		resp, b := r.do("POST", path, body, "Content-Type", "application/json", "User-Agent", "OTel-OTLP-Exporter-JavaScript/0.208.0")
		require.Equal(t, 200, resp.StatusCode, string(b))
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
		return string(b)
	}
	body := logRecords([2]string{"api_request", "s1"}, [2]string{"tool_result", "s1"})
	require.JSONEq(t, `{"partialSuccess":{}}`, send(schema.PathOTLPLogs, body))
	require.JSONEq(t, `{"partialSuccess":{}}`, send(schema.PathOTLPLogs, body), "a retry of the same request")
	require.JSONEq(t, `{"partialSuccess":{"rejectedLogRecords":1,"errorMessage":"some records name no session; is OTEL_METRICS_INCLUDE_SESSION_ID off?"}}`,
		send(schema.PathOTLPLogs, logRecords([2]string{"api_request", ""})))
	require.JSONEq(t, `{"partialSuccess":{}}`, send(schema.PathOTLPMetrics, `{"resourceMetrics":[]}`))
	require.EqualValues(t, 1, r.store.Head(), "only one record becomes an event")

	_, b := r.do("GET", schema.PathMetrics, "")
	for _, line := range []string{
		`hookback_telemetry_records_total{became="ignored",signal="logs"} 2`, `hookback_telemetry_records_total{became="rejected",signal="logs"} 1`,
	} {
		require.Contains(t, string(b), line)
	}
}

// compress returns a body compressed with gzip.
func compress(t *testing.T, body string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(body))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func TestTelemetry_TakesProtobufAndGzip(t *testing.T) {
	t.Parallel()
	r := setup(t)
	toProtobuf := func(body string) string {
		var data logs.LogsData
		require.NoError(t, protojson.Unmarshal([]byte(body), &data))
		b, err := proto.Marshal(&data)
		require.NoError(t, err)
		return string(b)
	}
	body := logRecords([2]string{"api_request", "s1"})
	for _, c := range []struct {
		body    string
		headers []string
	}{
		{toProtobuf(body), []string{"Content-Type", "application/x-protobuf"}},
		{compress(t, toProtobuf(body)), []string{"Content-Type", "application/x-protobuf", "Content-Encoding", "gzip"}},
		{compress(t, body), []string{"Content-Type", "application/json", "Content-Encoding", "GZIP"}},
		{body, []string{"Content-Type", "application/json; charset=utf-8"}},
	} {
		resp, b := r.do("POST", schema.PathOTLPLogs, c.body, c.headers...)
		require.Equal(t, 200, resp.StatusCode, "%v: %s", c.headers, b)
		require.EqualValues(t, 1, r.store.Head(), "each encoding yields the same event")
	}

	resp, b := r.do("POST", schema.PathOTLPLogs, toProtobuf(logRecords([2]string{"api_request", ""})), "Content-Type", "application/x-protobuf")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "application/x-protobuf", resp.Header.Get("Content-Type"))
	partial, _ := protowire.ConsumeBytes(b[1:])
	require.Equal(t, "\x08\x01", string(partial[:2]), "one record is rejected")
	require.Contains(t, string(partial), "OTEL_METRICS_INCLUDE_SESSION_ID")

	resp, b = r.do("POST", schema.PathOTLPLogs, compress(t, `{"x":"`+strings.Repeat("a", schema.MaxBody)+`"}`), "Content-Type", "application/json", "Content-Encoding", "gzip")
	require.Equal(t, 413, resp.StatusCode, string(b))
	truncated := compress(t, body)
	resp, _ = r.do("POST", schema.PathOTLPLogs, truncated[:len(truncated)-9], "Content-Type", "application/json", "Content-Encoding", "gzip")
	require.Equal(t, 400, resp.StatusCode)
	resp, _ = r.do("POST", schema.PathEvents, compress(t, `{}`), "Content-Type", "application/json", "Content-Encoding", "gzip")
	require.Equal(t, 415, resp.StatusCode, "other routes take no compressed bodies")
}

func TestTelemetry_CountsSpans(t *testing.T) {
	t.Parallel()
	r := setup(t)
	resp, b := r.do("POST", schema.PathOTLPTraces, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"},{"name":"b"}]}]}]}`, "Content-Type", "application/json")
	require.Equal(t, 200, resp.StatusCode, string(b))
	require.JSONEq(t, `{"partialSuccess":{}}`, string(b))
	resp, b = r.do("POST", schema.PathOTLPTraces, "\x0a\x04\x12\x02\x12\x00", "Content-Type", "application/x-protobuf")
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, b, "an empty message")
	require.Zero(t, r.store.Head())
	_, b = r.do("GET", schema.PathMetrics, "")
	require.Contains(t, string(b), `hookback_telemetry_records_total{became="ignored",signal="traces"} 3`)
}

// TestTelemetry_IsBehindOriginGuard checks that pages are rejected, and that the error for
// an unsupported encoding explains how to configure the exporter.
func TestTelemetry_IsBehindOriginGuard(t *testing.T) {
	t.Parallel()
	r := setup(t)
	body := logRecords([2]string{"api_request", "s1"})
	for _, path := range []string{schema.PathOTLPLogs, schema.PathOTLPMetrics, schema.PathOTLPTraces} {
		for name, c := range map[string]struct {
			status  int
			body    string
			headers []string
		}{
			"no protobuf":          {400, body, []string{"Content-Type", "application/x-protobuf"}},
			"protobuf from a page": {415, "", []string{"Content-Type", "application/x-protobuf", "Sec-Fetch-Site", "same-origin"}},
			"no media type":        {415, body, nil},
			"form":                 {415, body, []string{"Content-Type", "text/plain"}},
			"no gzip":              {400, body, []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}},
			"gzip twice":           {415, body, []string{"Content-Type", "application/json", "Content-Encoding", "gzip, gzip"}},
			"brotli":               {415, body, []string{"Content-Type", "application/json", "Content-Encoding", "br"}},
			"another page":         {403, body, []string{"Content-Type", "application/json", "Origin", "http://evil.example"}},
			"a rebound name":       {421, body, []string{"Content-Type", "application/json", "Host", "evil.example"}},
			"no JSON":              {400, `{"resourceLogs":[`, []string{"Content-Type", "application/json"}},
			"an array":             {400, `[]`, []string{"Content-Type", "application/json"}},
		} {
			resp, b := r.do("POST", path, c.body, c.headers...)
			require.Equal(t, c.status, resp.StatusCode, "%s %s: %s", path, name, b)
			p := r.problem(resp, b)
			if c.status == 415 {
				require.Contains(t, p.Hint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", name)
			}
		}
	}
	require.Zero(t, r.store.Head())
}
