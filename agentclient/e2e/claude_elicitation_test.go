package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// serveMCP runs an MCP server on stdio with one tool, which asks the client's user for an
// order and returns the answer.
func serveMCP(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var call json.RawMessage // the id of the call that is waiting for an answer
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		reply := func(id json.RawMessage, format string, args ...any) {
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, fmt.Sprintf(format, args...))
		}
		switch {
		case m.Method == "initialize":
			reply(m.ID, `{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"}}`, m.Params.Version)
		case m.Method == "tools/list":
			reply(m.ID, `{"tools":[{"name":"order","description":"Orders","inputSchema":{"type":"object","properties":{}}}]}`)
		case m.Method == "tools/call":
			call = m.ID
			_, _ = fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"An order, please","requestedSchema":{"type":"object","properties":{`+
				`"count":{"type":"integer","title":"How many"},"gift":{"type":"boolean"},"size":{"type":"string","enum":["s","m"]},"note":{"type":"string"}},"required":["count","gift","size"]}}}`)
		case string(m.ID) == `"ask"`:
			text, _ := json.Marshal("told " + string(m.Result) + string(m.Error))
			reply(call, `{"content":[{"type":"text","text":%s}]}`, text)
		case m.Method != "" && len(m.ID) > 0:
			reply(m.ID, `{}`)
		}
	}
}

// An MCP server asks the user. A person answers on the page, with the requested types.
func TestClaude_MCPElicitation(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	self, err := os.Executable()
	require.NoError(t, err)
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"shop": map[string]any{"command": self, "env": map[string]string{"HOOKBACK_E2E_MCP": "1"}}}})
	require.NoError(t, err)
	m := newModel(t, turn{tool: "mcp__shop__order", input: `{}`})
	term := p.startClaudeTerminal(t, m, "--strict-mcp-config", "--mcp-config", string(servers), "--allowedTools", "mcp__shop__order")
	asked := p.waitForQuestion(t, "Elicitation")
	require.NotContains(t, term.screen(), "An order, please", "its own dialog opens only after the hook has ended")
	p.answer(t, asked, schema.Response{Answers: map[string]json.RawMessage{"1": []byte(`"3"`), "2": []byte(`"No"`), "3": []byte(`"m"`), "4": []byte(`"(leave it out)"`)}})
	term.waitForText(t, "Done.", true)
	t.Log(m.toolResults())
	require.Contains(t, m.toolResults(), `accept`)
	require.Contains(t, m.toolResults(), `\"count\":3`)
	require.Contains(t, m.toolResults(), `\"gift\":false`)
	require.Contains(t, m.toolResults(), `\"size\":\"m\"`)
}
