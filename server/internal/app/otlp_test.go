package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOTLP_SendsTurnsOfHub(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		bodies <- req.URL.Path + " " + req.Header.Get("X-Key") + " " + string(body)
	}))
	t.Cleanup(collector.Close)
	headers := filepath.Join(t.TempDir(), "headers")
	require.NoError(t, os.WriteFile(headers, []byte("X-Key: one\n"), 0o600))
	cfg := testConfig(t)
	cfg.Version = "9.9"
	cfg.OTLP = OTLP{Endpoint: collector.URL, HeadersFile: headers}
	a, stop := startHub(t, cfg)
	require.Eventually(t, func() bool { // the hub begins with the turns after its start
		_, isSet, err := a.store.TraceCursor(t.Context())
		return err == nil && isSet
	}, time.Minute, time.Millisecond)
	postEvent(t, a, "UserPromptSubmit")
	postEvent(t, a, "Stop")
	body := <-bodies
	require.True(t, strings.HasPrefix(body, "/v1/traces one {"), body)
	require.Contains(t, body, `"9.9"`)
	require.Contains(t, body, `"name":"invoke_agent a"`)
	requireSent(t, a, 2)
	stop()

	// A turn that was open when the hub stopped is sent after the next start.
	a, stop = startHub(t, cfg)
	postEvent(t, a, "UserPromptSubmit")
	stop()
	require.Empty(t, bodies)
	a, stop = startHub(t, cfg)
	postEvent(t, a, "Stop")
	require.Contains(t, <-bodies, `"name":"invoke_agent a"`)
	requireSent(t, a, 4)
	stop()
	require.Empty(t, bodies)
}

// requireSent waits until the hub has stored that the turns up to seq were sent.
func requireSent(t *testing.T, a *App, seq int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		cursor, _, err := a.store.TraceCursor(t.Context())
		return err == nil && cursor.Sent >= seq
	}, time.Minute, time.Millisecond)
}

func TestOTLP_IsOffByDefault(t *testing.T) {
	t.Parallel()
	a, stop := startHub(t, testConfig(t))
	require.Nil(t, a.traces)
	postEvent(t, a, "UserPromptSubmit")
	postEvent(t, a, "Stop")
	_, isSet, err := a.store.TraceCursor(t.Context())
	require.NoError(t, err)
	require.False(t, isSet)
	stop()
}

func TestOTLP_NamesFlagAtFault(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]OTLP{
		"-otlp-endpoint collector: must be": {Endpoint: "collector"},
		"require -otlp-endpoint":            {Content: true},
		"-otlp-headers-file: open":          {Endpoint: "http://127.0.0.1:4318", HeadersFile: filepath.Join(t.TempDir(), "none")},
	} {
		cfg := testConfig(t)
		cfg.OTLP = o
		_, err := New(t.Context(), cfg)
		require.ErrorContains(t, err, want)
	}
}
