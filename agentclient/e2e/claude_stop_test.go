package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// stop denies a call and ends the agent's turn.
func stop(reason string) schema.Response {
	r := permission(false, reason)
	r.Interrupt = true
	return r
}

// A person denies a call and stops the turn: the call does not run, and no model call follows.
func TestClaude_DenyAndStop(t *testing.T) {
	t.Parallel()
	turns := []turn{bashCall("yes.txt"), bashCall("no.txt"), bashCall("never.txt")}
	check := func(t *testing.T, p *testEnv, m *model) {
		t.Helper()
		require.True(t, p.hasFile("yes.txt"))
		require.False(t, p.hasFile("no.txt"), "the denied call did not run")
		require.False(t, p.hasFile("never.txt"))
		require.Equal(t, 2, m.requestCount(), "no model call follows")
	}
	t.Run("headless policy", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code")
		writeFile(t, p.project, "hookback.json", askForBash)
		m := newModel(t, turns...)
		out := p.startClaude(t, m, "-p", "Go", "--allowedTools", "Bash")
		asked := p.waitForQuestion(t, "PreToolUse")
		require.True(t, asked.HumanInTheLoop.Interruptible)
		p.answer(t, asked, permission(true, ""))
		p.answer(t, p.waitForNextQuestion(t, asked), stop("Wrong branch."))
		t.Log(out())
		check(t, p, m)
	})
	t.Run("headless prompt", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code")
		m := newModel(t, turns...)
		out := p.startClaude(t, m, "-p", "Go", "--permission-mode", "default")
		asked := p.waitForQuestion(t, "PermissionRequest")
		p.answer(t, asked, permission(true, ""))
		p.answer(t, p.waitForNextQuestion(t, asked), stop("Wrong branch."))
		t.Log(out())
		check(t, p, m)
	})
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code")
		m := newModel(t, turns...)
		term := p.startClaudeTerminal(t, m, "--permission-mode", "default")
		asked := p.waitForQuestion(t, "PermissionRequest")
		p.answer(t, asked, permission(true, ""))
		second := p.waitForNextQuestion(t, asked)
		term.waitForText(t, "no.txt", true)
		p.answer(t, second, stop("Wrong branch."))
		p.waitForSettled(t, second.ID)
		term.waitForText(t, "Do you want to proceed?", false)
		term.waitForText(t, "Interrupted", true)
		check(t, p, m)
	})
}
