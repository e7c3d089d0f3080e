package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// httpHooks writes settings with nothing of ours in them but the hub's address.
func (p *place) httpHooks(t *testing.T, events ...string) {
	t.Helper()
	hooks := map[string]any{}
	for _, event := range events {
		hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{
			"type": "http", "url": p.hub.URL() + schema.PathClaudeCode + "?limit=60", "timeout": 60,
		}}}}
	}
	text, err := json.Marshal(map[string]any{"hooks": hooks})
	require.NoError(t, err)
	write(t, p.home, ".claude/settings.json", string(text))
}

// Claude Code's own http hooks, straight to the hub: answered, refused, watched.
func TestClaudeWithNothingInstalled(t *testing.T) {
	t.Parallel()
	p := setup(t)
	p.httpHooks(t, "PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "Stop", "SessionEnd")
	m := newModel(t, bash("yes.txt"), bash("no.txt"))
	out := p.begin(t, m, "-p", "Go", "--permission-mode", "default")

	asked := p.question(t, "PermissionRequest")
	require.Equal(t, schema.Listening, asked.HumanInTheLoopStatus.Waiter)
	p.answer(t, asked, permission(true, ""))
	p.answer(t, p.question(t, "PermissionRequest"), permission(false, "Leave no.txt alone."))
	t.Log(out())
	require.True(t, p.has("yes.txt"), "what was approved ran")
	require.False(t, p.has("no.txt"), "what was denied did not")
	require.Contains(t, m.told(), "Leave no.txt alone.", "the model is told why")
	for _, event := range []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"} {
		p.until(t, event, func(e *schema.Event) bool { return e.HookEventType == event && e.Agent == "claude-code" })
	}
	require.Equal(t, schema.Pulled, p.settled(t, asked.ID).Delivery.State)
}

// A Claude Code that is killed hangs up, and so its question ends.
func TestClaudeThatHangsUp(t *testing.T) {
	t.Parallel()
	p := setup(t)
	p.httpHooks(t, "PermissionRequest")
	run := p.start(t, newModel(t, bash("no.txt")), "-p", "Go")
	asked := p.question(t, "PermissionRequest")
	run.kill(t)
	require.Equal(t, schema.ByOrphaned, p.settled(t, asked.ID).Source)
}
