package hub

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
)

// Rejected records are logged, so that someone can find out why a session has no usage.
func TestIngestTelemetry_LogsRejectedRecordsOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := newTestHub(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	const record = `{"timeUnixNano":"1700000000000000000","body":{"stringValue":"claude_code.api_request"},"attributes":[{"key":"session.id","value":{"stringValue":"s"}}]}`
	body := []byte(`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]},"scopeLogs":[{"logRecords":[` + record + `,` + record + `]}]}]}`)

	other := Caller{Identity: auth.Identity{Name: "ci", Agent: true, Via: "token", Apps: []string{"other"}}}
	result, err := h.IngestTelemetry(t.Context(), otlp.Logs, body, other)
	require.NoError(t, err)
	require.Equal(t, TelemetryResult{Rejected: 2}, result)
	require.Equal(t, 1, strings.Count(log.String(), "telemetry records rejected"))
	require.Contains(t, log.String(), "records=2")
	require.Contains(t, log.String(), "which this token is not valid for")

	log.Reset()
	result, err = h.IngestTelemetry(t.Context(), otlp.Logs, body, Caller{})
	require.NoError(t, err)
	require.Zero(t, result.Rejected)
	require.Empty(t, log.String())
}
