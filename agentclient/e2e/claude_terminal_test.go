package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// terminal is an agent in a separate tmux session that receives its user's keystrokes.
type terminal struct {
	p      *testEnv
	socket string // path of tmux's socket
}

// startTerminal starts a program in tmux.
func (p *testEnv) startTerminal(t testing.TB, env []string, program string, args ...string) *terminal {
	t.Helper()
	_, err := exec.LookPath("tmux")
	require.NoError(t, err, "an agent's own dialog needs tmux")
	dir, err := os.MkdirTemp("", "hb") //nolint:usetesting // a socket's path must be short
	require.NoError(t, err)
	term := &terminal{p, filepath.Join(dir, "tmux")}
	t.Cleanup(func() {
		_ = term.command("kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	start := term.command(append([]string{"-f", os.DevNull, "new-session", "-d", "-x", "180", "-y", "50", "-c", p.project, program}, args...)...)
	start.Env = env
	out, err := start.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return term
}

func (term *terminal) command(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-S", term.socket}, args...)...)
}

// screen returns the visible text.
func (term *terminal) screen() string {
	out, _ := term.command("capture-pane", "-p").Output()
	return string(out)
}

// waitForText waits until the screen contains the text, or no longer does.
func (term *terminal) waitForText(t testing.TB, text string, wanted bool) {
	t.Helper()
	var screen string
	if !eventually(func() bool {
		screen = term.screen()
		return strings.Contains(screen, text) == wanted
	}) {
		require.Fail(t, "the screen", "%q: want %v\n%s", text, wanted, screen)
	}
}

func (term *terminal) press(t testing.TB, keys ...string) {
	t.Helper()
	require.NoError(t, term.command(append([]string{"send-keys"}, keys...)...).Run())
}

// startClaudeTerminal starts Claude Code with a prompt and completed onboarding.
func (p *testEnv) startClaudeTerminal(t testing.TB, m *model, args ...string) *terminal {
	t.Helper()
	state, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
		"customApiKeyResponses": map[string]any{"approved": []string{"sk-ant-none"}},
		"projects":              map[string]any{p.project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	require.NoError(t, err)
	writeFile(t, p.home, ".claude.json", string(state))
	env := p.claudeEnv(m)
	if slices.Contains(args, "bypassPermissions") {
		env = append(env, "IS_SANDBOX=1") // required for this mode as root
	}
	return p.startTerminal(t, env, claudeProgram(t), append([]string{"Go"}, args...)...)
}

// askForBash is a policy that asks a person for every shell command.
const askForBash = `{"rules":[{"tool":"Bash","then":"ask"}]}`

// Both hooks together: Claude Code's own rules would run the call silently, the policy opens
// its dialog, and the answer on the page closes the dialog.
func TestClaudeTerminal_FirstAnswerWins(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	writeFile(t, p.project, "hookback.json", askForBash)
	m := newModel(t, bashCall("yes.txt"), bashCall("no.txt"), bashCall("local.txt"), bashCall("escaped.txt"))
	term := p.startClaudeTerminal(t, m, "--allowedTools", "Bash")

	asked := p.waitForQuestion(t, "PermissionRequest")
	term.waitForText(t, "hookback.json", true) // the dialog shows our reason
	require.False(t, p.hasFile("yes.txt"))
	p.answer(t, asked, permission(true, ""))
	require.True(t, eventually(func() bool { return p.hasFile("yes.txt") }))

	p.answer(t, p.waitForNextQuestion(t, asked), permission(false, "Not that one."))
	require.True(t, eventually(func() bool { return strings.Contains(m.toolResults(), "Not that one.") }), "%s", m.toolResults())
	require.False(t, p.hasFile("no.txt"))

	// No hook reports an approval at the dialog, so the hub closes the question when the call
	// has run.
	local := p.waitForNextQuestion(t, asked)
	term.waitForText(t, "local.txt", true)
	term.press(t, "Enter")
	require.True(t, eventually(func() bool { return p.hasFile("local.txt") }))
	end := p.waitForSettled(t, local.ID)
	require.Equal(t, schema.Cancelled, end.Outcome)
	require.Equal(t, schema.ByAgent, end.Source)

	// Esc stops the hook, which withdraws its question.
	escaped := p.waitForNextQuestion(t, local)
	term.waitForText(t, "escaped.txt", true)
	term.press(t, "Escape")
	end = p.waitForSettled(t, escaped.ID)
	require.Equal(t, schema.ByDismissal, end.Source)
	require.Equal(t, "dismissed in the agent", end.Reason)
	require.False(t, p.hasFile("escaped.txt"))
}

// waitForNextQuestion waits for a pending question after e.
func (p *testEnv) waitForNextQuestion(t testing.TB, e *schema.Event) *schema.Event {
	t.Helper()
	return p.waitForEvent(t, "that asks after "+e.ID.String(), func(n *schema.Event) bool {
		return n.ID > e.ID && n.HumanInTheLoop != nil && n.HumanInTheLoopStatus.Status == schema.Pending
	})
}

// Plans and questions have separate dialogs, which an answer on the page closes as well.
func TestClaudeTerminal_PlanDeniedThenApproved(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	plan := turn{tool: "ExitPlanMode", input: `{}`}
	written := turn{tool: "Write", input: `{"file_path":"PLANFILE","content":"# Tidy up\n\n1. Remove the old table"}`}
	m := newModel(t, turn{tool: "AskUserQuestion", input: twoQuestions}, written, plan, plan)
	term := p.startClaudeTerminal(t, m, "--permission-mode", "plan")

	asked := p.waitForQuestion(t, "PermissionRequest")
	term.waitForText(t, "Which database?", true)
	p.answer(t, asked, schema.Response{Answers: map[string]json.RawMessage{"1": []byte(`"SQLite"`), "2": []byte(`["Migrations","Seeds"]`)}})

	first := p.waitForNextQuestion(t, asked)
	require.Contains(t, first.HumanInTheLoop.Question, "1. Remove the old table")
	p.answer(t, first, permission(false, "Back it up first."))
	second := p.waitForNextQuestion(t, first)
	require.Contains(t, m.toolResults(), "Back it up first.")
	p.answer(t, second, permission(true, ""))
	term.waitForText(t, "Approved Claude's plan", true)
	term.waitForText(t, "plan mode on", false)
}

// No permission mode of Claude Code runs a call that the policy asks for.
func TestClaudeTerminal_EveryModeObeysPolicy(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"default", "acceptEdits", "auto", "dontAsk", "bypassPermissions"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			p.installHooks(t, "claude-code")
			writeFile(t, p.project, "hookback.json", askForBash)
			m := newModel(t, bashCall("no.txt"), bashCall("yes.txt"))
			term := p.startClaudeTerminal(t, m, "--permission-mode", mode, "--allowedTools", "Bash")
			asked := p.waitForQuestion(t, "PermissionRequest")
			term.waitForText(t, "Do you want to proceed?", true)
			require.Contains(t, term.screen(), "hookback.json")
			p.answer(t, asked, permission(false, "no"))
			p.answer(t, p.waitForNextQuestion(t, asked), permission(true, ""))
			require.True(t, eventually(func() bool { return p.hasFile("yes.txt") }))
			require.False(t, p.hasFile("no.txt"))
		})
	}
}
