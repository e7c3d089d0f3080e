package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// autoMode starts Claude Code in the mode in which its own reviewer decides about calls; see
// turn.refused.
var autoMode = []string{"--permission-mode", "auto"}

// refusedCall is a call that the reviewer of auto mode refuses.
func refusedCall(file, reason string) turn {
	call := bashCall(file)
	call.refused = reason
	return call
}

// backgroundAgent is a call that starts a subagent in the background, as Claude Code does in a
// terminal. Its conversation is scripted with model.subagent and the same prompt.
func backgroundAgent(prompt string) turn {
	input, _ := json.Marshal(map[string]any{"description": "Look around", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": true})
	return turn{tool: "Agent", input: string(input)}
}

// The reviewer of auto mode allows one call and refuses another. No one is asked, and the hub
// gets the refusal with its reason.
func TestClaudeAuto_ReportsRefusal(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, p *testEnv, m *model) {
		t.Helper()
		refused := p.waitForEvent(t, "of the refusal", func(e *schema.Event) bool { return e.HookEventType == "PermissionDenied" })
		require.Contains(t, string(refused.Payload), "Writes outside the task.")
		require.NotEmpty(t, refused.ToolUseID)
		require.True(t, p.hasFile("yes.txt"), "the allowed call ran")
		require.False(t, p.hasFile("no.txt"), "the refused call did not run")
		require.Contains(t, m.toolResults(), "Writes outside the task.", "the model gets the reviewer's reason")
	}
	turns := []turn{bashCall("yes.txt"), refusedCall("no.txt", "Writes outside the task.")}
	t.Run("headless", func(t *testing.T) {
		t.Parallel()
		p := newUnwatchedEnv(t)
		p.installHooks(t, "claude-code")
		m := newModel(t, turns...)
		t.Log(p.startClaude(t, m, append([]string{"-p", "Go"}, autoMode...)...)())
		check(t, p, m)
	})
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		p := newUnwatchedEnv(t)
		p.installHooks(t, "claude-code")
		m := newModel(t, turns...)
		term := p.startClaudeTerminal(t, m, autoMode...)
		term.waitForText(t, "Done.", true)
		check(t, p, m)
	})
}

// A subagent in the background asks for permission, and the answer on the page decides.
func TestClaudeTerminal_BackgroundSubagentIsAnswered(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	m := newModel(t, backgroundAgent("Count the tables"))
	background := m.subagent("Count the tables", bashCall("yes.txt"), bashCall("no.txt"))
	p.startClaudeTerminal(t, m, "--permission-mode", "default")
	asked := p.waitForQuestion(t, "PermissionRequest")
	require.NotEmpty(t, asked.AgentID)
	p.answer(t, asked, permission(true, ""))
	p.answer(t, p.waitForNextQuestion(t, asked), permission(false, "Leave no.txt alone."))
	p.waitForEvent(t, "that the subagent stopped", func(e *schema.Event) bool { return e.HookEventType == "SubagentStop" && e.AgentID == asked.AgentID })
	require.True(t, p.hasFile("yes.txt"))
	require.False(t, p.hasFile("no.txt"))
	require.Contains(t, background.toolResults(), "Leave no.txt alone.")
}
