package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// TestTelemetry_IsBehindOriginGuard checks that pages are rejected, and that the error for
// an unsupported encoding explains how to configure the exporter.
func TestTelemetry_IsBehindOriginGuard(t *testing.T) {
	t.Parallel()
	r := setup(t)
	body := logRecords([2]string{"api_request", "s1"})
	for _, path := range []string{schema.PathOTLPLogs, schema.PathOTLPMetrics} {
		for name, c := range map[string]struct {
			status  int
			body    string
			headers []string
		}{
			"protobuf":       {415, "\x0a\x00", []string{"Content-Type", "application/x-protobuf"}},
			"no media type":  {415, body, nil},
			"form":           {415, body, []string{"Content-Type", "text/plain"}},
			"gzip":           {415, body, []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}},
			"another page":   {403, body, []string{"Content-Type", "application/json", "Origin", "http://evil.example"}},
			"a rebound name": {421, body, []string{"Content-Type", "application/json", "Host", "evil.example"}},
			"no JSON":        {400, `{"resourceLogs":[`, []string{"Content-Type", "application/json"}},
			"an array":       {400, `[]`, []string{"Content-Type", "application/json"}},
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
