package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// waitLimit exceeds every wait in these tests, even on a busy machine.
const waitLimit = 30 * time.Second

func TestMain(m *testing.M) {
	var ignore []goleak.Option
	for _, f := range hubtest.Goroutines() {
		ignore = append(ignore, goleak.IgnoreAnyFunction(f))
	}
	goleak.VerifyTestMain(m, ignore...)
}

// harness is a real hub and a client of the MCP SDK.
type harness struct {
	t   testing.TB
	hub *hubtest.Hub
	*sdk.ClientSession
	progress chan *sdk.ProgressNotificationParams
	http     *http.Client
}

func setup(t testing.TB, query string, options ...hubtest.Option) *harness {
	t.Helper()
	hub := hubtest.Start(t, options...)
	r := &harness{t: t, hub: hub, progress: make(chan *sdk.ProgressNotificationParams, 100)}
	transport := &http.Transport{}
	r.http = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	r.ClientSession = r.connect(query, nil)
	return r
}

// connect opens another client session, with additional headers.
func (r *harness) connect(query string, header http.Header) *sdk.ClientSession {
	r.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) { r.progress <- req.Params },
	})
	session, err := client.Connect(r.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: r.hub.URL() + "/mcp" + query, HTTPClient: &http.Client{Transport: &headerTransport{header, r.http.Transport}},
		DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = session.Close() }) // fails if the hub has stopped
	return session
}

// headerTransport adds headers to every request.
type headerTransport struct {
	header http.Header
	next   http.RoundTripper
}

func (w *headerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range w.header {
		req.Header[name] = values
	}
	return w.next.RoundTrip(req)
}

// call calls a tool that must succeed and decodes its result.
func call[T any](r *harness, tool string, arguments any) (out T) {
	r.t.Helper()
	result := r.callTool(tool, arguments)
	require.False(r.t, result.IsError, text(result))
	require.NoError(r.t, json.Unmarshal([]byte(text(result)), &out))
	return out
}

// callError calls a tool that must fail and returns the error text.
func (r *harness) callError(tool string, arguments any) string {
	r.t.Helper()
	result := r.callTool(tool, arguments)
	require.True(r.t, result.IsError, text(result))
	return text(result)
}

func (r *harness) callTool(tool string, arguments any) *sdk.CallToolResult {
	r.t.Helper()
	result, err := r.CallTool(r.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(r.t, err)
	return result
}

func text(result *sdk.CallToolResult) string {
	if len(result.Content) != 1 {
		return ""
	}
	content, _ := result.Content[0].(*sdk.TextContent)
	return content.Text
}

// do sends a request to the hub's HTTP API.
func (r *harness) do(method, path, body string) []byte {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.hub.URL()+path, bytes.NewBufferString(body))
	require.NoError(r.t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := r.http.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, res.StatusCode, string(b))
	return b
}

// pending waits for the only pending question and returns it.
func (r *harness) pending() (e schema.Event) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		var list []schema.Event
		require.NoError(r.t, json.Unmarshal(r.do("GET", "/events?status=pending", ""), &list))
		if len(list) == 0 {
			return false
		}
		e = list[0]
		return true
	}, waitLimit, 5*time.Millisecond)
	return e
}

func (r *harness) respond(id schema.EventID, body string) {
	r.do("POST", schema.At(schema.PathRespond, id), body)
}

func (r *harness) event(id schema.EventID) (e schema.Event) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal(r.do("GET", schema.At(schema.PathEvent, id), ""), &e))
	return e
}
