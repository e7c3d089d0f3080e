package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/hubtest"
)

// startMCPSession connects the SDK's client to the real program.
func startMCPSession(t *testing.T, hub string, progress chan<- string, args ...string) *sdk.ClientSession {
	t.Helper()
	cmd := exec.Command(program, append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), "HOOKBACK_URL="+hub)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) { progress <- req.Params.Message },
	})
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func toolText(t *testing.T, result *sdk.CallToolResult) string {
	t.Helper()
	require.Len(t, result.Content, 1)
	text, ok := result.Content[0].(*sdk.TextContent)
	require.True(t, ok)
	return text.Text
}

// The program forwards a question, its progress and the answer, and uses a hub again that was
// restarted.
func TestMCP_RealProgramAsksAndReconnects(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t)
	progress := make(chan string, 10)
	session := startMCPSession(t, hub.URL(), progress, "--app", "planner", "--timeout", "60")
	ask := func() (ticket struct {
		RequestID schema.EventID `json:"request_id"`
		Secret    string         `json:"secret"`
	}) {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask_human", Arguments: map[string]any{"question": "Which one?"}})
		require.NoError(t, err)
		require.False(t, result.IsError, toolText(t, result))
		require.NoError(t, json.Unmarshal([]byte(toolText(t, result)), &ticket))
		return ticket
	}
	ticket := ask()
	waiting := &sdk.CallToolParams{Name: "await_hitl_request", Arguments: map[string]any{"request_id": ticket.RequestID, "secret": ticket.Secret, "max_wait_seconds": 50}}
	waiting.SetProgressToken("p")
	answered := make(chan error, 1)
	go func() {
		<-progress // the bridge forwards events before the stream ends
		answered <- postJSON(hub.URL()+schema.At(schema.PathRespond, ticket.RequestID), `{"response":"Both \u2028 of them"}`)
	}()
	result, err := session.CallTool(t.Context(), waiting)
	require.NoError(t, err)
	require.NoError(t, <-answered)
	require.Contains(t, toolText(t, result), `of them`)

	hub.Stop()
	_, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask_human", Arguments: map[string]any{"question": "And now?"}})
	require.ErrorContains(t, err, "no Hookback hub answers at "+hub.URL())
	require.ErrorContains(t, err, "nothing was approved")
	hub.Restart()
	ask()
}

func postJSON(url, body string) error {
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("%s: %s", res.Status, text)
	}
	return nil
}

// runMCPLines runs mcp in this process with the lines as stdin and returns the lines of stdout.
func runMCPLines(t *testing.T, hub string, env map[string]string, lines ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"mcp", "--unsigned", "--hub", hub}, func(name string) string { return env[name] },
		streams{strings.NewReader(strings.Join(lines, "\n")), &out, &errs})
	require.Equal(t, exitOK, status, errs.String())
	if out.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// The bridge handles every form of response.
func TestMCP_ForwardsResponses(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask"}}`
	for name, c := range map[string]struct {
		status          int
		media, body     string
		line            string
		want, wantError string
	}{
		"JSON":           {200, "application/json; charset=utf-8", "{\"jsonrpc\":\"2.0\",\n \"id\":7,\"result\":{}}", call, `{"jsonrpc":"2.0","id":7,"result":{}}`, ""},
		"JSON-RPC error": {404, "application/json", `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`, call, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`, ""},
		"stream": {
			200, "text/event-stream", ": waiting\n\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":7,\"result\":{}}\r\n\r\n", call,
			`{"jsonrpc":"2.0","id":7,"result":{}}`, "",
		},
		"truncated stream": {200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"resu", call, "", "before it answered"},
		"problem":          {503, "application/problem+json", `{"code":"busy","detail":"too much","hint":"Later."}`, call, "", "busy: too much. Later"},
		"HTML":             {200, "text/html", "<html>", call, "", "before it answered"},
		"not found":        {404, "text/plain", "what?", call, "", "is not a hub"},
		"redirect":         {302, "text/plain", "", call, "", "is not a hub"},
		"notification":     {202, "", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", ""},
		"invalid JSON":     {200, "", "", `hello`, "", "not a JSON-RPC message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			lines := runMCPLines(t, server.URL, nil, c.line)
			if c.want == "" && c.wantError == "" {
				require.Empty(t, lines)
				return
			}
			require.Len(t, lines, 1)
			if c.want != "" {
				require.JSONEq(t, c.want, lines[0])
				return
			}
			var got schema.RPC
			require.NoError(t, json.Unmarshal([]byte(lines[0]), &got))
			require.NotNil(t, got.Error, lines[0])
			require.Contains(t, got.Error.Message, c.wantError)
		})
	}
}

// The headers carry the negotiated version, the session, the method, the name and the token.
func TestMCP_SendsProtocolHeaders(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Clone()
		header.Set("Query", r.URL.RawQuery)
		seen <- header
		var m schema.RPC
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s-1")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, m.ID)
	}))
	defer server.Close()
	lines := runMCPLines(t, server.URL, map[string]string{"HOOKBACK_TOKEN": "hubin_secret", "HOOKBACK_SESSION": "s1"},
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"größe"}}`,
	)
	require.Len(t, lines, 2)
	first, second := <-seen, <-seen
	require.Equal(t, "Bearer hubin_secret", first.Get("Authorization"))
	require.Contains(t, first.Get("Query"), "session=s1")
	require.Empty(t, first.Get("Mcp-Protocol-Version"))
	require.Equal(t, "initialize", first.Get("Mcp-Method"))
	require.Equal(t, "2025-06-18", second.Get("Mcp-Protocol-Version"))
	require.Equal(t, "s-1", second.Get("Mcp-Session-Id"))
	require.Equal(t, "=?base64?Z3LDtsOfZQ==?=", second.Get("Mcp-Name"))

	lines = runMCPLines(t, server.URL, nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	require.Len(t, lines, 1)
	require.Equal(t, "2026-07-28", (<-seen).Get("Mcp-Protocol-Version"), "the version in the message has priority")
}

func TestMCP_UnreachableHubReturnsError(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	lines := runMCPLines(t, server.URL, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, ``, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "no Hookback hub answers at "+server.URL)
	var out, errs bytes.Buffer
	require.Equal(t, exitError, run(t.Context(), []string{"mcp", "word"}, func(string) string { return "" }, streams{strings.NewReader(""), &out, &errs}))
	require.Equal(t, exitError, run(t.Context(), []string{"mcp", "--hub", "ftp://x"}, func(string) string { return "" }, streams{strings.NewReader(""), &out, &errs}))
}
