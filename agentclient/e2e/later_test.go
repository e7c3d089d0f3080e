package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A policy asks without making the agent wait: the model does other work, gets a message that a person approved, and runs the
// call. It runs once: the same call is a new request the next time.
func TestLater_ModelContinuesAndRunsTheCallOnce(t *testing.T) {
	t.Parallel()
	const other = "until [ -e go ]; do sleep 0.1; done"
	codexModel := func(t testing.TB, turns ...turn) *model { return newDialectModel(t, responsesAPI, turns...) }
	for name, c := range map[string]struct {
		tool, command string
		model         func(testing.TB, ...turn) *model
		start         func(*testEnv, *testing.T, *model) (wait func() string)
	}{
		"claude-code": {"Bash", "command", newModel, func(p *testEnv, t *testing.T, m *model) func() string {
			return p.startClaude(t, m, "-p", "Go", "--allowedTools", "Bash")
		}},
		"codex": {"exec_command", "cmd", codexModel, func(p *testEnv, t *testing.T, m *model) func() string {
			return p.startCodex(t, m)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			p.installHooks(t, name, "--hub", p.hub.URL())
			writeFile(t, p.home, ".config/hookback/hookback.json",
				`{"rules": [{"tool": "Bash", "when": {"command": {"contains": "lines.txt"}}, "then": "later"}]}`)
			call := func(command string) turn {
				return turn{tool: c.tool, input: fmt.Sprintf(`{%q:%q}`, c.command, command)}
			}
			later := call("echo ran >> lines.txt")
			turns := []turn{later, call(other), later, later, {text: "Done."}}
			m := c.model(t, turns...)
			out := c.start(p, t, m)
			asked := p.waitForQuestion(t, "PreToolUse")
			require.True(t, asked.HumanInTheLoop.Appeal.Later)
			require.Zero(t, p.runs("lines.txt"))
			p.answer(t, asked, permission(true, ""))
			writeFile(t, p.project, "go", "")
			second := p.waitForNextQuestion(t, asked)
			t.Log(out())
			require.Equal(t, 1, p.runs("lines.txt"), "the approved call ran once")
			require.True(t, second.HumanInTheLoop.Appeal.Later)
			all := strings.Join(m.requests, "")
			require.Contains(t, all, fmt.Sprintf("A person was asked (request %d). Continue with other work.", asked.ID))
			require.Contains(t, all, fmt.Sprintf("Request %d was approved: run exactly the same", asked.ID))
		})
	}
}
