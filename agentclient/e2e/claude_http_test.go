package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// writeHTTPHooks writes Claude Code settings whose only reference to Hookback is the hub's
// URL.
func (p *testEnv) writeHTTPHooks(t *testing.T, events ...string) {
	t.Helper()
	hooks := map[string]any{}
	for _, event := range events {
		hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{
			"type": "http", "url": p.hub.URL() + schema.PathClaudeCode + "?limit=60", "timeout": 60,
			"headers": map[string]string{hook.ClaudeEntrypointHeader: "$CLAUDE_CODE_ENTRYPOINT"}, "allowedEnvVars": []string{"CLAUDE_CODE_ENTRYPOINT"},
		}}}}
	}
	text, err := json.Marshal(map[string]any{"hooks": hooks})
	require.NoError(t, err)
	writeFile(t, p.home, ".claude/settings.json", string(text))
}

// Claude Code's http hooks post directly to the hub: questions are approved and denied, and
// events arrive.
func TestClaudeHTTPHooks_DirectToHub(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.writeHTTPHooks(t, "PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "Stop", "SessionEnd")
	m := newModel(t, bashCall("yes.txt"), bashCall("no.txt"))
	out := p.startClaude(t, m, "-p", "Go", "--permission-mode", "default")

	asked := p.waitForQuestion(t, "PermissionRequest")
	require.Equal(t, schema.Listening, asked.HumanInTheLoopStatus.Waiter)
	p.answer(t, asked, permission(true, ""))
	p.answer(t, p.waitForQuestion(t, "PermissionRequest"), permission(false, "Leave no.txt alone."))
	t.Log(out())
	require.True(t, p.hasFile("yes.txt"), "the approved call ran")
	require.False(t, p.hasFile("no.txt"), "the denied call did not run")
	require.Contains(t, m.toolResults(), "Leave no.txt alone.", "the model gets the reason")
	for _, event := range []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"} {
		p.waitForEvent(t, event, func(e *schema.Event) bool { return e.HookEventType == event && e.Agent == "claude-code" })
	}
	require.Equal(t, schema.Pulled, p.waitForSettled(t, asked.ID).Delivery.State)
}

// Killing Claude Code closes its connection, which ends its question.
func TestClaudeHTTPHooks_DisconnectOrphansQuestion(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.writeHTTPHooks(t, "PermissionRequest")
	run := p.startClaudeProcess(t, newModel(t, bashCall("no.txt")), "-p", "Go")
	asked := p.waitForQuestion(t, "PermissionRequest")
	run.kill(t)
	require.Equal(t, schema.ByOrphaned, p.waitForSettled(t, asked.ID).Source)
}
