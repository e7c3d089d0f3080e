package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// setHookLimit changes the limit of the installed hooks, so that a test does not wait as long as a
// person may take.
func (p *testEnv) setHookLimit(t *testing.T, limit string) {
	t.Helper()
	path := filepath.Join(p.home, ".claude", "settings.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "3600s")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "3600s", limit)), 0o600))
}

// approve presses Enter at the open dialog until the call has run. A dialog ignores keys for a
// moment after it has opened.
func (term *terminal) approve(t *testing.T, hasRun func() bool) {
	t.Helper()
	if !eventually(func() bool {
		term.press(t, "Enter")
		return hasRun()
	}) {
		require.Fail(t, "the call did not run", "%s", term.screen())
	}
}

// A background subagent's dialog opens only after the hook: immediately if no one watches, later if
// someone does, and never if they answer first.
func TestClaudeSubagent_DialogOpensAfterHook(t *testing.T) {
	t.Parallel()
	const dialog = "Do you want to proceed?"
	t.Run("no viewer", func(t *testing.T) {
		t.Parallel()
		p := newUnwatchedEnv(t)
		p.installHooks(t, "claude-code")
		m := newModel(t, backgroundAgent("Explore it"))
		m.subagent("Explore it", bashCall("yes.txt"))
		term := p.startClaudeTerminal(t, m, "--permission-mode", "default")
		term.waitForText(t, dialog, true)
		asked := p.waitForEvent(t, "of a subagent", func(e *schema.Event) bool { return e.HookEventType == "PermissionRequest" })
		require.NotEmpty(t, asked.AgentID)
		require.Contains(t, p.waitForSettled(t, asked.ID).Reason, "no one had the dashboard open")
		term.approve(t, func() bool { return p.hasFile("yes.txt") })
	})
	t.Run("silent viewer", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code")
		p.setHookLimit(t, "15s") // 10 s, less than the two minutes of a subagent
		m := newModel(t, backgroundAgent("Explore it"))
		m.subagent("Explore it", bashCall("yes.txt"))
		term := p.startClaudeTerminal(t, m, "--permission-mode", "default")
		asked := p.waitForQuestion(t, "PermissionRequest")
		require.False(t, asked.HumanInTheLoop.AlsoAsked)
		require.InDelta(t, 10, asked.HumanInTheLoop.PromptAfter, 0)
		require.NotContains(t, term.screen(), dialog, "the dialog waits for the hook")
		require.Equal(t, schema.Timeout, p.waitForSettled(t, asked.ID).Outcome)
		term.waitForText(t, dialog, true)
		term.approve(t, func() bool { return p.hasFile("yes.txt") })
	})
	t.Run("viewer answers", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code")
		m := newModel(t, backgroundAgent("Explore it"))
		m.subagent("Explore it", bashCall("yes.txt"))
		term := p.startClaudeTerminal(t, m, "--permission-mode", "default")
		asked := p.waitForQuestion(t, "PermissionRequest")
		require.InDelta(t, 120, asked.HumanInTheLoop.PromptAfter, 0)
		p.answer(t, asked, permission(true, ""))
		require.True(t, eventually(func() bool { return p.hasFile("yes.txt") }))
		require.NotContains(t, term.screen(), dialog)
	})
}

// The entry point shows the hub whether an http hook's dialog is open.
func TestClaudeHTTPHooks_EntryPoint(t *testing.T) {
	t.Parallel()
	t.Run("claude -p without a viewer", func(t *testing.T) {
		t.Parallel()
		p := newUnwatchedEnv(t)
		p.writeHTTPHooks(t, "PreToolUse", "PermissionRequest")
		m := newModel(t, bashCall("no.txt"))
		t.Log(p.startClaude(t, m, "-p", "Go")()) // a held hook would end the test's time
		require.False(t, p.hasFile("no.txt"))
		asked := p.waitForEvent(t, "that asked", func(e *schema.Event) bool { return e.HookEventType == "PermissionRequest" })
		require.Contains(t, asked.HumanInTheLoopStatus.Reason, "no one had the dashboard open")
	})
	t.Run("terminal without a viewer", func(t *testing.T) {
		t.Parallel()
		p := newUnwatchedEnv(t)
		p.writeHTTPHooks(t, "PreToolUse", "PermissionRequest")
		m := newModel(t, bashCall("yes.txt"))
		term := p.startClaudeTerminal(t, m, "--permission-mode", "default")
		asked := p.waitForQuestion(t, "PermissionRequest")
		require.True(t, asked.HumanInTheLoop.AlsoAsked)
		term.waitForText(t, "Do you want to proceed?", true)
		p.answer(t, asked, permission(true, ""))
		require.True(t, eventually(func() bool { return p.hasFile("yes.txt") }))
	})
}

// A hub that starts while Claude Code's dialog is open gets the card. If the dialog is answered
// while the hub is down, the hub closes the card when it is back.
func TestClaudeTerminal_HubStartsAfterDialog(t *testing.T) {
	t.Parallel()
	p := newUnwatchedEnv(t)
	p.installHooks(t, "claude-code")
	p.hub.Stop()
	m := newModel(t, bashCall("yes.txt"), bashCall("local.txt"))
	term := p.startClaudeTerminal(t, m, "--permission-mode", "default")
	term.waitForText(t, "yes.txt", true)
	p.hub.Restart()
	asked := p.waitForQuestion(t, "PermissionRequest")
	p.answer(t, asked, permission(true, ""))
	require.True(t, eventually(func() bool { return p.hasFile("yes.txt") }))

	local := p.waitForNextQuestion(t, asked)
	p.hub.Stop()
	term.waitForText(t, "local.txt", true)
	term.approve(t, func() bool { return p.hasFile("local.txt") })
	p.hub.Restart()
	end := p.waitForSettled(t, local.ID)
	require.Equal(t, schema.Cancelled, end.Outcome)
}

// A call of 5 MB can be asked, although its arguments would not fit into a request twice.
func TestClaude_AsksForLargeCall(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	content := strings.Repeat(`0123456789abcde\n`, 5<<20/16)
	m := newModel(t, turn{tool: "Write", input: `{"file_path":"` + filepath.Join(p.project, "large.txt") + `","content":"` + content + `"}`})
	out := p.startClaude(t, m, "-p", "Go", "--permission-mode", "default")
	asked := p.waitForQuestion(t, "PermissionRequest")
	require.False(t, asked.HumanInTheLoop.ToolCall.Editable)
	p.answer(t, asked, permission(true, ""))
	t.Log(out())
	text, err := os.ReadFile(filepath.Join(p.project, "large.txt"))
	require.NoError(t, err)
	require.Len(t, text, 5<<20)
}
