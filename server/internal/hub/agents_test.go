package hub

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/schema"
)

// TestAssessCall_ReadsEveryAgentFormat assesses the question that each agent's adapter
// makes from a recorded hook input.
func TestAssessCall_ReadsEveryAgentFormat(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for sample, want := range map[string]string{ // sample -> excerpt of the most severe finding
		"claude-code-PermissionRequest-Bash": "DROP TABLE orders_old",
		"codex-PreToolUse":                   "git push origin main",
		"gemini-BeforeTool":                  "rm -rf build",
		"cursor-beforeShellExecution":        "kubectl apply -f deploy/prod.yaml",
		"cursor-preToolUse":                  "",
		"copilot-preToolUse-camelCase":       "terraform apply -auto-approve",
		"copilot-PreToolUse-PascalCase":      "terraform apply -auto-approve",
		"opencode-permission.asked":          "",
		"qwen-PreToolUse":                    "git reset --hard HEAD~3",
		"droid-PreToolUse":                   "helm upgrade shop ./chart",
		"crush-PreToolUse":                   "",
		"cline-PreToolUse":                   "docker compose down -v",
		"windsurf-pre_run_command":           "npm publish",
		"kiro-preToolUse":                    "",
		"antigravity-PreToolUse":             "gcloud run deploy shop-api",
	} {
		name, _, _ := strings.Cut(strings.Replace(sample, "claude-code", "claude", 1), "-")
		agent, ok := hook.Find(strings.Replace(name, "claude", "claude-code", 1))
		require.True(t, ok, name)
		stdin, err := os.ReadFile(filepath.Join("..", "..", "..", "agentclient", "hook", "testdata", sample+".json"))
		require.NoError(t, err)
		call, err := agent.Agent.Parse(hook.Input{Stdin: stdin, Env: func(string) string { return "" }})
		require.NoError(t, err, sample)
		require.NotNil(t, call.Ask, sample)
		call.Event.HumanInTheLoop = call.Ask
		raw, err := json.Marshal(call.Event)
		require.NoError(t, err)
		st := h.postedStatus(string(raw))
		got := ""
		if len(st.Findings) > 0 {
			got = st.Findings[0].Excerpt
		}
		require.Equal(t, want, got, "%s: %+v", sample, st.Findings)
	}
}

// TestRule_MatchesMCPToolOfEveryAgent: the agents name the tool create_issue of the server linear in their
// own ways. A rule on mcp__linear__create_issue matches each of them, and the call's end closes its question.
func TestRule_MatchesMCPToolOfEveryAgent(t *testing.T) {
	t.Parallel()
	for agent, c := range map[string]struct{ before, after string }{
		"claude-code": {
			`{"session_id":"s","cwd":"/a","hook_event_name":"PermissionRequest","tool_name":"mcp__linear__create_issue","tool_input":{"title":"x"}}`,
			`{"session_id":"s","cwd":"/a","hook_event_name":"PostToolUse","tool_name":"mcp__linear__create_issue","tool_input":{"title":"x"}}`,
		},
		"gemini": {
			`{"session_id":"s","cwd":"/a","hook_event_name":"BeforeTool","tool_name":"mcp_linear_create_issue","tool_input":{"title":"x"},
				"mcp_context":{"server_name":"linear","tool_name":"create_issue"}}`,
			`{"session_id":"s","cwd":"/a","hook_event_name":"AfterTool","tool_name":"mcp_linear_create_issue","tool_input":{"title":"x"},
				"mcp_context":{"server_name":"linear","tool_name":"create_issue"},"tool_response":{}}`,
		},
		"cursor": {
			`{"conversation_id":"s","hook_event_name":"beforeMCPExecution","tool_name":"create_issue","tool_input":"{\"title\":\"x\"}","mcp_server_name":"linear"}`, "",
		},
		"windsurf": {
			`{"agent_action_name":"pre_mcp_tool_use","trajectory_id":"s","tool_info":{"mcp_server_name":"linear","mcp_tool_name":"create_issue","mcp_tool_arguments":{}}}`, "",
		},
		"cline": {
			`{"hookName":"PreToolUse","taskId":"s","preToolUse":{"toolName":"use_mcp_tool","parameters":{"server_name":"linear","tool_name":"create_issue","arguments":"{}"}}}`, "",
		},
		"kiro": {
			`{"session_id":"s","cwd":"/a","hook_event_name":"preToolUse","tool_name":"@linear/create_issue","tool_input":{"title":"x"}}`, "",
		},
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			h := newTestHub(t)
			found, ok := hook.Find(agent)
			require.True(t, ok)
			event := func(stdin string) string {
				call, err := found.Agent.Parse(hook.Input{Stdin: []byte(stdin), Env: func(string) string { return "" }})
				require.NoError(t, err)
				call.Event.HumanInTheLoop = call.Ask
				raw, err := json.Marshal(call.Event)
				require.NoError(t, err)
				return string(raw)
			}
			if c.after != "" {
				asked := h.post(event(c.before))
				require.Equal(t, "Call linear · create_issue title x", intent.String(h.status(asked.ID).Intent))
				h.post(event(c.after))
				require.True(t, new(h.status(asked.ID)).IsSettled(), "the call ran")
			}
			raw, err := h.CreateRule(t.Context(), &schema.RuleDraft{
				Tool: "mcp__linear__create_issue", Then: schema.ThenDeny, Scope: schema.ScopeTool, Reach: schema.ReachEverywhere,
			}, Caller{Identity: ada})
			require.NoError(t, err, string(raw))
			require.Equal(t, schema.Deny, decodeEvent(t, h.post(event(c.before)).JSON).HumanInTheLoopStatus.Outcome)
		})
	}
}
