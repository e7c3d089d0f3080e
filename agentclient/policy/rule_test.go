package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
)

// A rule about an MCP tool applies under the names that agents make of its server.
func TestRule_AppliesToSanitizedServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, agent, tool string
		applies           bool
	}{
		{"mcp__my.server__delete", "claude-code", "mcp__my_server__delete", true},
		{"mcp__my server__delete", "gemini", "mcp_my_server_delete", true},
		{"mcp__my-server__delete", "codex", "mcp__my_server__delete", true},
		{"mcp__my_server__del*", "claude-code", "mcp__my-server__delete", true},
		{"mcp__my.server__delete", "opencode", "my_server_delete", true},
		{"mcp__io.github.x/y__delete", "copilot", "io-github-x-y-delete", true},
		{"mcp__github-mcp-server__*", "copilot", "mcp_github-mcp-se_delete_file", true},
		{"mcp__my.server__delete", "claude-code", "mcp__my_server__delete_all", false},
		{"mcp__my.server__delete", "claude-code", "mcp__mysserver__delete", false},
	} {
		p := mustParsePolicy(t, `{"rules": [{"tool": "`+c.rule+`", "then": "deny"}]}`)
		got := p.Evaluate(policy.Call{Agent: c.agent, Name: c.tool, Arguments: raw("{}")}).Effect
		require.Equal(t, c.applies, got == policy.Deny, "%+v", c)
		allow := mustParsePolicy(t, `{"rules": [{"tool": "`+c.rule+`", "then": "allow"}]}`)
		require.Empty(t, allow.Evaluate(policy.Call{Agent: c.agent, Name: c.tool, Arguments: raw("{}")}).Effect, "%+v", c)
	}
}
