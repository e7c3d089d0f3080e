package hub

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
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
