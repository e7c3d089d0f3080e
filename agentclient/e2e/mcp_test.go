package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

const inspectorVersion = "2.12.0"

// Claude Code asks over MCP only, without our hooks: through the stdio bridge and directly
// over HTTP.
func TestClaudeMCP_PermissionPromptTool(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(p *testEnv) map[string]any{
		"stdio": func(p *testEnv) map[string]any {
			return map[string]any{"command": p.hook, "args": []string{"mcp", "--hub", p.hub.URL()}}
		},
		"http": func(p *testEnv) map[string]any { return map[string]any{"type": "http", "url": p.hub.URL() + "/mcp"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"hookback": server(p)}})
			require.NoError(t, err)
			writeFile(t, p.home, "mcp.json", string(config))
			m := newModel(t, bashCall("yes.txt"), bashCall("other.txt"), bashCall("no.txt"))
			out := p.startClaude(t, m, "-p", "Go", "--mcp-config", p.home+"/mcp.json", "--permission-prompt-tool", "mcp__hookback__request_approval")

			asked := p.waitForQuestion(t, "PermissionRequest")
			require.NotEmpty(t, asked.ToolUseID)
			require.Contains(t, string(asked.HumanInTheLoop.ToolCall.Arguments), "yes.txt")
			require.False(t, p.hasFile("yes.txt"), "the call waits")
			p.answer(t, asked, permission(true, ""))
			edited := permission(true, "")
			edited.ModifiedArguments = json.RawMessage(`{"command":"echo ran > edited.txt","description":"Leave a trace"}`)
			p.answer(t, p.waitForQuestion(t, "PermissionRequest"), edited)
			p.answer(t, p.waitForQuestion(t, "PermissionRequest"), permission(false, "Leave no.txt alone."))
			t.Log(out())
			require.True(t, p.hasFile("yes.txt"), "the approved call ran")
			require.False(t, p.hasFile("no.txt"), "the denied call did not run")
			require.False(t, p.hasFile("other.txt"))
			require.True(t, p.hasFile("edited.txt"), "the person's edit ran")
			require.Contains(t, m.toolResults(), "Leave no.txt alone.")
		})
	}
}

// The MCP project's own inspector can list and call the tools.
func TestMCPInspector_ListsTools(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	program := installedProgram(t, mcpInspector)
	inspect := func(args ...string) []byte {
		run := exec.CommandContext(p.ctx, program, append([]string{"--cli"}, args...)...)
		run.Dir, run.Env = p.home, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")} // it fails with a proxy
		var errs bytes.Buffer
		run.Stderr = &errs
		out, err := run.Output()
		require.NoError(t, err, "%s%s", out, &errs)
		return out
	}
	for _, target := range [][]string{
		{p.hub.URL() + "/mcp", "--transport", "http"},
		{"-e", "HOOKBACK_URL=" + p.hub.URL(), p.hook, "mcp"},
	} {
		var listed struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		out := inspect(append(slices.Clone(target), "--method", "tools/list")...)
		require.NoError(t, json.Unmarshal(out, &listed), "%s", out)
		require.Len(t, listed.Tools, 8)
		out = inspect(append(slices.Clone(target), "--method", "tools/call", "--tool-name", "ask_human", "--tool-arg", "question=Which one?")...)
		require.Contains(t, string(out), "pending")
	}
	require.Equal(t, schema.FreeText, p.waitForQuestion(t, "AskHuman").HumanInTheLoop.Type)
}
