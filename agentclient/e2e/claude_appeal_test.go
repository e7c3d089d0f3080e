package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

const refusal = "Writes outside the task."

// appendCall is a call that the reviewer of auto mode always refuses. It adds a line, so each run
// is visible.
func appendCall(file string) turn {
	return turn{tool: "Bash", input: `{"command":"echo ran >> ` + file + `","description":"Leave a trace"}`, refused: refusal}
}

// runs returns how often the call for that file ran.
func (p *testEnv) runs(file string) int {
	text, _ := os.ReadFile(filepath.Join(p.project, file))
	return bytes.Count(text, []byte("\n"))
}

func (p *testEnv) startClaudeAuto(t testing.TB, m *model, args ...string) (wait func() string) {
	t.Helper()
	return p.startClaude(t, m, append(append([]string{"-p", "Go"}, autoMode...), args...)...)
}

// A person lets a call run that the reviewer refused. It runs once: the same call is refused the
// next time, and is a new appeal.
func TestClaudeAppeal_YesRunsOnce(t *testing.T) {
	t.Parallel()
	calls := []turn{appendCall("lines.txt"), appendCall("lines.txt"), appendCall("lines.txt")}
	decide := func(t *testing.T, p *testEnv, m *model) {
		t.Helper()
		asked := p.waitForQuestion(t, "PermissionDenied")
		require.Equal(t, refusal, asked.HumanInTheLoop.Appeal.Reason)
		require.False(t, asked.HumanInTheLoop.ToolCall.Editable)
		require.Zero(t, p.runs("lines.txt"))
		p.answer(t, asked, permission(true, ""))
		second := p.waitForNextQuestion(t, asked)
		require.Equal(t, "PermissionDenied", second.HookEventType)
		require.Equal(t, 1, p.runs("lines.txt"), "the granted call ran")
		p.answer(t, second, permission(false, "Once is enough."))
	}
	check := func(t *testing.T, p *testEnv) {
		t.Helper()
		require.Equal(t, 1, p.runs("lines.txt"), "a grant works once")
	}
	t.Run("headless", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		m := newModel(t, calls...)
		out := p.startClaudeAuto(t, m)
		decide(t, p, m)
		t.Log(out())
		check(t, p)
	})
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		m := newModel(t, calls...)
		term := p.startClaudeTerminal(t, m, autoMode...)
		decide(t, p, m)
		term.waitForText(t, "Done.", true)
		check(t, p)
	})
}

// Without an approval, the refusal counts, as without Hookback.
func TestClaudeAppeal_OtherwiseRefusalStands(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, p *testEnv, m *model) {
		t.Helper()
		require.Zero(t, p.runs("lines.txt"), "the refused call did not run")
		require.Contains(t, strings.Join(m.requests, ""), refusal, "the model gets the reviewer's reason")
		require.NotContains(t, strings.Join(m.requests, ""), "you may retry")
	}
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		m := newModel(t, appendCall("lines.txt"))
		out := p.startClaudeAuto(t, m)
		p.answer(t, p.waitForQuestion(t, "PermissionDenied"), permission(false, "The reviewer is right."))
		t.Log(out())
		check(t, p, m)
	})
	t.Run("no viewer", func(t *testing.T) {
		t.Parallel()
		p := newUnwatchedEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		m := newModel(t, appendCall("lines.txt"))
		t.Log(p.startClaudeAuto(t, m)()) // it ends by itself
		check(t, p, m)
	})
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		settings := filepath.Join(p.home, ".claude", "settings.json")
		text, err := os.ReadFile(settings)
		require.NoError(t, err)
		writeFile(t, p.home, ".claude/settings.json", strings.ReplaceAll(string(text), `"--limit"`, `"--appeal-wait", "2s", "--limit"`))
		m := newModel(t, appendCall("lines.txt"))
		out := p.startClaudeAuto(t, m)
		asked := p.waitForQuestion(t, "PermissionDenied")
		t.Log(out())
		check(t, p, m)
		require.NotEqual(t, schema.Approve, p.waitForSettled(t, asked.ID).Outcome)
	})
	t.Run("no hub", func(t *testing.T) {
		t.Parallel()
		p := newUnwatchedEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		p.hub.Stop()
		m := newModel(t, appendCall("lines.txt"))
		t.Log(p.startClaudeAuto(t, m)())
		check(t, p, m)
	})
}

// A grant is for one call of one session: other arguments and another session are refused, and a
// denial of the policy overrules it.
func TestClaudeAppeal_GrantIsNarrow(t *testing.T) {
	t.Parallel()
	t.Run("other arguments", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		m := newModel(t, appendCall("lines.txt"), appendCall("others.txt"))
		out := p.startClaudeAuto(t, m)
		asked := p.waitForQuestion(t, "PermissionDenied")
		p.answer(t, asked, permission(true, ""))
		p.answer(t, p.waitForNextQuestion(t, asked), permission(false, "Not this one."))
		t.Log(out())
		require.Zero(t, p.runs("others.txt"))
	})
	t.Run("another session", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		held := make(chan struct{})
		retry := appendCall("lines.txt")
		retry.after = held
		m := newModel(t, appendCall("lines.txt"), retry)
		out := p.startClaudeAuto(t, m)
		asked := p.waitForQuestion(t, "PermissionDenied")
		p.answer(t, asked, permission(true, ""))
		require.True(t, eventually(func() bool { return m.requestCount() == 2 }), "the grant is live")
		other := p.startClaudeAuto(t, newModel(t, appendCall("lines.txt")))
		second := p.waitForNextQuestion(t, asked)
		require.NotEqual(t, asked.SessionID, second.SessionID)
		require.Zero(t, p.runs("lines.txt"))
		p.answer(t, second, permission(false, "Not there."))
		t.Log(other())
		require.Zero(t, p.runs("lines.txt"))
		close(held)
		t.Log(out())
		require.Equal(t, 1, p.runs("lines.txt"), "the grant still works where it was given")
	})
	t.Run("policy denies", func(t *testing.T) {
		t.Parallel()
		p := newTestEnv(t)
		p.installHooks(t, "claude-code", "--hub", p.hub.URL())
		held := make(chan struct{})
		retry := appendCall("lines.txt")
		retry.after = held
		m := newModel(t, appendCall("lines.txt"), retry)
		out := p.startClaudeAuto(t, m)
		p.answer(t, p.waitForQuestion(t, "PermissionDenied"), permission(true, ""))
		require.True(t, eventually(func() bool { return m.requestCount() == 2 }), "the grant is live")
		writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"deny","reason":"Not on this machine."}]}`)
		close(held)
		t.Log(out())
		require.Zero(t, p.runs("lines.txt"), "a grant never overrules the policy")
		require.Contains(t, m.toolResults(), "Not on this machine.")
	})
}
