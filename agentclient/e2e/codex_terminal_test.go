package e2e_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCodexTerminal_EscCancelsQuestion: Esc kills the hook, so the interrupt ends its question.
func TestCodexTerminal_EscCancelsQuestion(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "codex")
	writeFile(t, p.project, "hookback.json", askForBash)
	m := newDialectModel(t, responsesAPI, codexShell("escaped.txt"))
	p.configureCodex(t, m)
	term := p.startTerminal(t, p.codexEnv(), agentProgram(t, "codex"),
		"--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "Go")
	asked := p.waitForQuestion(t, "PreToolUse")
	term.press(t, "Escape")
	end := p.waitForSettled(t, asked.ID)
	require.Equal(t, "dismissed in the agent", end.Reason, "%s", term.screen())
	require.False(t, p.hasFile("escaped.txt"))
}

// codexEnv returns the environment of Codex.
func (p *testEnv) codexEnv() []string {
	return p.env("LOOPBACK_KEY=none", "CODEX_HOME="+filepath.Join(p.home, ".codex"))
}
