package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
	cmd.Env = []string{"HOME=" + t.TempDir(), "HOOKBACK_URL=" + hub}
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
