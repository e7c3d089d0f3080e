package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/agentclient/internal/fakehub"
	"github.com/hookback/hookback/schema"
)

// runMCPLines runs mcp in this process with the lines as stdin and returns the lines of stdout.
func runMCPLines(t *testing.T, hub string, env map[string]string, lines ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	status := Run(t.Context(), []string{"--unsigned", "--hub", hub}, func(name string) string { return env[name] },
		cli.Streams{In: strings.NewReader(strings.Join(lines, "\n")), Out: &out, Err: &errs})
	require.Equal(t, cli.ExitOK, status, errs.String())
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
	require.Equal(t, cli.ExitError, Run(t.Context(), []string{"word"}, func(string) string { return "" }, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}))
	require.Equal(t, cli.ExitError, Run(t.Context(), []string{"--hub", "ftp://x"}, func(string) string { return "" }, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}))
}

// Answers of an MCP server can't be signed. The bridge talks only to the trusted hub.
func TestMCP_ChecksHub(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"request_approval"}}`
	start := func(key *fakehub.Hub) *clitest.AttackingHub {
		key.Intercept = clitest.RespondWith(200, "application/json", `{"jsonrpc":"2.0","id":7,"result":{"behavior":"allow"}}`)
		return clitest.StartAttackingHub(t, key)
	}
	hub, fake, old := start(&fakehub.Hub{Key: clitest.TrustedHub.Key}), start(&fakehub.Hub{Key: fakehub.NewKey()}), start(&fakehub.Hub{})
	for name, test := range map[string]struct {
		env, flag string
		pin       string
		want      string // empty: the call is forwarded
	}{
		"no pin":                            {env: fake.URL()},
		"trusted":                           {env: hub.URL(), pin: hub.PinLine()},
		"trusted key at another address":    {flag: hub.URL(), pin: clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000")},
		"relayed proof":                     {env: hub.URL(), pin: clitest.TrustedHub.PinLineFor("http://127.0.0.1:4000"), want: "is not a trusted one"},
		"fake hub":                          {env: fake.URL(), pin: hub.PinLine(), want: "is not a trusted one"},
		"fake hub at the trusted address":   {env: fake.URL(), pin: clitest.TrustedHub.PinLineFor(fake.URL()), want: "has an unknown key (" + fake.KeyID() + ")"},
		"fake hub by flag":                  {flag: fake.URL(), pin: hub.PinLine(), want: "has an unknown key"},
		"hub of an earlier version by flag": {flag: old.URL(), pin: hub.PinLine(), want: "has no key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if test.pin != "" {
				clitest.PinHub(t, home, test.pin)
			}
			var args []string
			if test.flag != "" {
				args = append(args, "--hub", test.flag)
			}
			var out, stderr bytes.Buffer
			env := map[string]string{"HOME": home, "HOOKBACK_URL": test.env, "HOOKBACK_TOKEN": "hubin_secret"}
			status := Run(t.Context(), args, func(name string) string { return env[name] }, cli.Streams{In: strings.NewReader(call), Out: &out, Err: &stderr})
			require.Equal(t, 0, status, stderr.String())
			if test.want == "" {
				require.Contains(t, out.String(), `"behavior":"allow"`)
				return
			}
			require.NotContains(t, out.String(), "allow")
			require.Contains(t, out.String(), test.want)
			require.Contains(t, out.String(), "Nothing was approved.")
		})
	}
}
