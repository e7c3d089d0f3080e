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

// terminal is an agent in a terminal of its own, and the keys of its user.
type terminal struct {
	p    *place
	tmux string // the socket
}

// terminal starts a program in tmux. The test is skipped where there is none.
func (p *place) terminal(t *testing.T, env []string, program string, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("an agent's own dialog needs tmux")
	}
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
	return exec.Command("tmux", append([]string{"-S", term.tmux}, args...)...)
}

// screen is what the user sees.
func (term *terminal) screen() string {
	out, _ := term.command("capture-pane", "-p").Output()
	return string(out)
}

// shows waits until the screen has the text, or until it has it no more.
func (term *terminal) shows(t *testing.T, text string, is bool) {
	t.Helper()
	var screen string
	if !eventually(func() bool {
		screen = term.screen()
		return strings.Contains(screen, text) == is
	}) {
		require.Fail(t, "the screen", "%q: want %v\n%s", text, is, screen)
	}
}

func (term *terminal) press(t *testing.T, keys ...string) {
	t.Helper()
	require.NoError(t, term.command(append([]string{"send-keys"}, keys...)...).Run())
}

// claudeTerminal starts Claude Code with a prompt, past the questions of its first start.
func (p *place) claudeTerminal(t *testing.T, m *model, args ...string) *terminal {
	t.Helper()
	state, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
		"customApiKeyResponses": map[string]any{"approved": []string{"sk-ant-none"}},
		"projects":              map[string]any{p.project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	require.NoError(t, err)
	write(t, p.home, ".claude.json", string(state))
	env := p.claudeEnv(m)
	if slices.Contains(args, "bypassPermissions") {
		env = append(env, "IS_SANDBOX=1") // or root is refused this mode
	}
	return p.terminal(t, env, claudeProgram(t), append([]string{"Go"}, args...)...)
}

// gated is a policy that wants a person for every shell command.
const gated = `{"rules":[{"tool":"Bash","then":"ask"}]}`

// The two hooks together: Claude Code's own rules would run the call without a word,
// the policy makes its dialog open, and the answer on the page closes it.
func TestClaudesDialogAndThePageRace(t *testing.T) {
	t.Parallel()
	p := setup(t)
	p.install(t, "claude-code")
	write(t, p.project, "hookback.json", gated)
	m := newModel(t, bash("yes.txt"), bash("no.txt"), bash("local.txt"), bash("escaped.txt"))
	term := p.claudeTerminal(t, m, "--allowedTools", "Bash")

	asked := p.question(t, "PermissionRequest")
	term.shows(t, "hookback.json", true) // our reason stands in the dialog
	require.False(t, p.has("yes.txt"))
	p.answer(t, asked, permission(true, ""))
	require.True(t, eventually(func() bool { return p.has("yes.txt") }))

	p.answer(t, p.next(t, asked), permission(false, "Not that one."))
	require.True(t, eventually(func() bool { return strings.Contains(m.told(), "Not that one.") }), "%s", m.told())
	require.False(t, p.has("no.txt"))

	// A Yes at the dialog is told to nobody: the hub closes the card when the call ran.
	local := p.next(t, asked)
	term.shows(t, "local.txt", true)
	term.press(t, "Enter")
	require.True(t, eventually(func() bool { return p.has("local.txt") }))
	end := p.settled(t, local.ID)
	require.Equal(t, schema.Cancelled, end.Outcome)
	require.Equal(t, schema.ByAgent, end.Source)

	// Esc stops the hook, which takes its question back.
	escaped := p.next(t, local)
	term.shows(t, "escaped.txt", true)
	term.press(t, "Escape")
	end = p.settled(t, escaped.ID)
	require.Equal(t, "the agent stopped waiting for this answer", end.Reason)
	require.False(t, p.has("escaped.txt"))
}

// next waits for a question after e.
func (p *place) next(t *testing.T, e *schema.Event) *schema.Event {
	t.Helper()
	return p.until(t, "that asks after "+e.ID.String(), func(n *schema.Event) bool {
		return n.ID > e.ID && n.HumanInTheLoop != nil && n.HumanInTheLoopStatus.Status == schema.Pending
	})
}

// Plans and questions have dialogs of their own, which the page closes as well.
func TestClaudesPlanIsSentBackAndApproved(t *testing.T) {
	t.Parallel()
	p := setup(t)
	p.install(t, "claude-code")
	plan := turn{tool: "ExitPlanMode", input: `{}`}
	written := turn{tool: "Write", input: `{"file_path":"PLANFILE","content":"# Tidy up\n\n1. Remove the old table"}`}
	m := newModel(t, turn{tool: "AskUserQuestion", input: twoQuestions}, written, plan, plan)
	term := p.claudeTerminal(t, m, "--permission-mode", "plan")

	asked := p.question(t, "PermissionRequest")
	term.shows(t, "Which database?", true)
	p.answer(t, asked, schema.Response{Answers: map[string]json.RawMessage{"1": []byte(`"SQLite"`), "2": []byte(`["Migrations","Seeds"]`)}})

	first := p.next(t, asked)
	require.Contains(t, first.HumanInTheLoop.Question, "1. Remove the old table")
	p.answer(t, first, permission(false, "Back it up first."))
	second := p.next(t, first)
	require.Contains(t, m.told(), "Back it up first.")
	p.answer(t, second, permission(true, ""))
	term.shows(t, "Approved Claude's plan", true)
	term.shows(t, "plan mode on", false)
}

// No mode of Claude Code's runs what the policy wants a person for.
func TestNoModeGoesRoundThePolicy(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"default", "acceptEdits", "auto", "dontAsk", "bypassPermissions"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := setup(t)
			p.install(t, "claude-code")
			write(t, p.project, "hookback.json", gated)
			m := newModel(t, bash("no.txt"), bash("yes.txt"))
			term := p.claudeTerminal(t, m, "--permission-mode", mode, "--allowedTools", "Bash")
			asked := p.question(t, "PermissionRequest")
			term.shows(t, "Do you want to proceed?", true)
			require.Contains(t, term.screen(), "hookback.json")
			p.answer(t, asked, permission(false, "no"))
			p.answer(t, p.next(t, asked), permission(true, ""))
			require.True(t, eventually(func() bool { return p.has("yes.txt") }))
			require.False(t, p.has("no.txt"))
		})
	}
}
