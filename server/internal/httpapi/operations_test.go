package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// A probe that finds no listener cannot distinguish a hub that stops from one that crashed.
func TestReady_SaysStoppingUntilRequestsEnd(t *testing.T) {
	t.Parallel()
	inside, leave := make(chan struct{}), make(chan struct{})
	r := setupMCP(t, func(_ context.Context, w http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-leave
		_, _ = io.WriteString(w, "done")
	})
	answer := make(chan string)
	go func() {
		b, _ := io.ReadAll(r.startMCPRequest(t.Context()).Body)
		answer <- string(b)
	}()
	<-inside
	stopped := make(chan struct{})
	go func() {
		r.shutdown()
		close(stopped)
	}()
	<-r.stopping.Done()
	var health schema.Health
	resp, b := r.do("GET", schema.PathReady, "")
	require.Equal(t, 503, resp.StatusCode)
	require.NoError(t, json.Unmarshal(b, &health))
	require.Equal(t, "stopping", health.Status)
	require.True(t, resp.Close, "the connection does not delay the stop")
	resp, _ = r.do("GET", schema.PathHealth, "")
	require.Equal(t, 200, resp.StatusCode)
	resp, b = r.do("POST", "/events", event(1))
	require.Equal(t, "stopping", r.problem(resp, b).Code)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	close(leave)
	require.Equal(t, "done", <-answer)
	<-stopped
	require.NotContains(t, r.log.String(), forcedClose)
}

func TestRequestID_IsInResponseAndLog(t *testing.T) {
	t.Parallel()
	r := setup(t)
	resp, _ := r.do("GET", "/events/recent", "", "X-Request-Id", "of the client")
	first := resp.Header.Get("X-Request-Id")
	require.Regexp(t, `^[a-z0-9]{8}-[a-z0-9]+$`, first)
	resp, _ = r.do("GET", "/events/0", "")
	require.NotEqual(t, first, resp.Header.Get("X-Request-Id"))
	require.Equal(t, 404, resp.StatusCode)
	require.Eventually(t, func() bool { return strings.Contains(r.log.String(), "request="+first) }, waitLimit, time.Millisecond)
	require.Regexp(t, `hookback_http_problems_total\{code="not_found"\} 1`, r.metrics())
}

// promlint has the rules of promtool check metrics.
func TestMetrics_FollowConventions(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.post(event(1, permission))
	families, err := r.Metrics.registry.Gather()
	require.NoError(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Regexp(t, `hookback_build_info\{go="go1.*",schema="[1-9][0-9]*",version="test"\} 1`, r.metrics())
}

// A load balancer sends requests elsewhere, and the hub serves requests that arrive.
func TestServer_DrainServesEverything(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Drain()
	var health schema.Health
	resp, b := r.do("GET", schema.PathReady, "")
	require.Equal(t, 503, resp.StatusCode)
	require.NoError(t, json.Unmarshal(b, &health))
	require.Equal(t, "draining", health.Status)
	for _, path := range []string{schema.PathHealth, "/openapi.json", "/events/recent"} {
		resp, b := r.do("GET", path, "")
		require.Equal(t, 200, resp.StatusCode, string(b))
	}
	r.post(event(1))
}
