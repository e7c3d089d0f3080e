package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// qwenVerdicts are the replies of the reviewer of Qwen Code's auto mode that refuse a call: a short
// one, then one with the reason.
var qwenVerdicts = []turn{
	{tool: "respond_in_schema", input: `{"shouldBlock":true}`},
	{tool: "respond_in_schema", input: `{"thinking":"It writes.","shouldBlock":true,"reason":"Writes outside the task."}`},
}

// Auto mode refuses a call, which becomes an appeal. After an approval, the same call runs when the
// model repeats it: Qwen Code would ask its user then.
func TestQwenAppeal_YesRunsRepeatedCall(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	writeFile(t, p.home, ".qwen/settings.json", `{`+qwenQuiet+`}`)
	p.installHooks(t, "qwen", "--hub", p.hub.URL())
	call := qwenShell("yes.txt")
	m := newModel(t, append(append([]turn{call}, qwenVerdicts...), call)...)
	env := p.env("ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+m.url, "ANTHROPIC_MODEL=none", "QWEN_SANDBOX=false")
	term := p.startTerminal(t, env, "node", agentProgram(t, "qwen"), "--auth-type", "anthropic", "-m", "none", "--approval-mode", "auto", "-i", "Go")
	asked := p.waitForQuestion(t, "PermissionDenied")
	require.Equal(t, "Qwen Code auto mode", asked.HumanInTheLoop.Appeal.By)
	require.False(t, p.hasFile("yes.txt"))
	p.answer(t, asked, permission(true, ""))
	require.True(t, eventually(func() bool { return p.hasFile("yes.txt") }), "the granted call ran\n%s", term.screen())
}
