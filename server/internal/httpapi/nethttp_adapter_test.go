package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/hub"
)

type mcpFunc func(waitCtx context.Context, by hub.Caller) http.Handler

func (f mcpFunc) HandlerFor(waitCtx context.Context, by hub.Caller) http.Handler {
	return f(waitCtx, by)
}

// setupMCP returns a harness whose /mcp is served by handler.
func setupMCP(
	t *testing.T, handler func(until context.Context, w http.ResponseWriter, r *http.Request), options ...func(*Config),
) *harness {
	t.Helper()
	return setup(t, append(options, func(c *Config) {
		c.MCP = mcpFunc(func(until context.Context, _ hub.Caller) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler(until, w, r) })
		})
	})...)
}

// startMCPRequest sends a request and returns the response when its header arrives.
func (r *harness) startMCPRequest(ctx context.Context) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+r.addr+schema.PathMCP+"?app=x", strings.NewReader(`{"a":1}`))
	require.NoError(r.t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := r.client.Do(req)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func TestAdapter_CopiesRequestAndResponse(t *testing.T) {
	t.Parallel()
	r := setupMCP(t, func(_ context.Context, w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Connection", "close")
		w.Header().Set("Cache-Control", "public")
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		fmt.Fprintf(w, "%s %s %s %s %s", req.Method, req.URL, req.Host, req.Header.Get("X-Test"), body)
	})
	resp, b := r.do("POST", "/mcp?app=x", `{"a":1}`, "X-Test", "yes")
	require.Equal(t, http.StatusTeapot, resp.StatusCode)
	require.Equal(t, "POST /mcp?app=x "+r.addr+` yes {"a":1}`, string(b))
	require.Equal(t, "text/plain", resp.Header.Get("Content-Type"))
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"), "the hub's own policy")
	require.False(t, resp.Close)

	resp, b = r.do("GET", schema.PathMCP, "")
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode, string(b))
	require.Equal(t, "POST", resp.Header.Get("Allow"))
	resp, b = r.do("POST", schema.PathMCP, "{}", "Origin", "http://evil.example")
	require.Equal(t, "forbidden", r.problem(resp, b).Code, "behind the origin guard")
	resp, b = r.do("POST", schema.PathMCP, "{}", "Host", "evil.example")
	require.Equal(t, "misdirected", r.problem(resp, b).Code)
}

// TestAdapter_StreamsEachFlush: the handler continues only after the client has read the
// flushed data, and the response takes longer than WriteTimeout.
func TestAdapter_StreamsEachFlush(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	r := setupMCP(t, func(_ context.Context, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", n)
			w.(http.Flusher).Flush()
			<-next
		}
	}, func(c *Config) { c.WriteTimeout, c.HookHeartbeat = 300*time.Millisecond, 110*time.Millisecond })
	res := r.startMCPRequest(t.Context())
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	lines := bufio.NewReader(res.Body)
	for n := range 3 {
		for beats, seen := 0, false; !seen || beats < 3; { // three heartbeats take longer than WriteTimeout
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			switch {
			case strings.HasPrefix(line, "data: "):
				require.Equal(t, fmt.Sprintf("data: %d\n", n), line)
				seen = true
			case strings.HasPrefix(line, ":"):
				beats++
			}
		}
		next <- struct{}{}
	}
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.NotContains(t, string(rest), "data")
}

// TestAdapter_StartsStreamForSlowHandler checks that the response starts before the handler
// writes anything.
func TestAdapter_StartsStreamForSlowHandler(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	r := setupMCP(t, func(_ context.Context, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		<-begun
		fmt.Fprint(w, "data: late\n\n")
	}, func(c *Config) { c.HookHeartbeat = 10 * time.Millisecond })
	res := r.startMCPRequest(t.Context())
	require.Equal(t, http.StatusOK, res.StatusCode)
	close(begun)
	all, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(all), "data: late\n\n"), string(all))
}

func TestAdapter_CancelsWhenClientDisconnects(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	r := setupMCP(t, func(until context.Context, w http.ResponseWriter, req *http.Request) {
		<-until.Done()
		<-req.Context().Done()
		ended <- req.Context().Err()
	}, func(c *Config) { c.HookHeartbeat = 10 * time.Millisecond })
	ctx, hangUp := context.WithCancel(t.Context())
	r.startMCPRequest(ctx)
	hangUp()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(waitLimit):
		t.Fatal("the handler is still waiting")
	}
}

// TestAdapter_HandlerFinishesOnShutdown checks that the handler can still write to its
// client.
func TestAdapter_HandlerFinishesOnShutdown(t *testing.T) {
	t.Parallel()
	inside := make(chan struct{})
	r := setupMCP(t, func(until context.Context, w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		close(inside)
		<-until.Done()
		if req.Context().Err() == nil {
			fmt.Fprint(w, "data: stopping\n\n")
		}
	})
	go func() {
		<-inside
		r.shutdown()
	}()
	all, err := io.ReadAll(r.startMCPRequest(t.Context()).Body)
	require.NoError(t, err)
	require.Equal(t, "data: stopping\n\n", string(all))
}

func TestAdapter_PanicFailsOnlyItsRequest(t *testing.T) {
	t.Parallel()
	r := setupMCP(t, func(context.Context, http.ResponseWriter, *http.Request) { panic("a secret") })
	resp, b := r.do("POST", schema.PathMCP, "{}")
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode, string(b))
	require.NotContains(t, string(b)+r.log.String(), "a secret")
	resp, _ = r.do("GET", schema.PathHealth, "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
}
