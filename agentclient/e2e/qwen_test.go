package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// startQwen starts Qwen Code, configured to run every tool without asking.
func (p *testEnv) startQwen(t testing.TB, m *model, env ...string) (wait func() string) {
	t.Helper()
	env = append(p.env("ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+m.url, "ANTHROPIC_MODEL=none", "QWEN_SANDBOX=false"), env...)
	return p.startProgram(t, env, "node", agentProgram(t, "qwen"), "--auth-type", "anthropic", "-m", "none", "--approval-mode", "yolo", "Go")
}

func qwenShell(file string) turn {
	return turn{tool: "run_shell_command", input: `{"command":"echo ran > ` + file + `","description":"Leave a trace","is_background":false}`}
}

const qwenQuiet = `"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"disableAutoUpdate":true}`

// Qwen Code would run every call without asking, but our policy asks a person.
func TestQwen_ObeysPolicy(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	writeFile(t, p.home, ".qwen/settings.json", `{`+qwenQuiet+`}`)
	p.installHooks(t, "qwen")
	writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	m := newModel(t, qwenShell("yes.txt"), qwenShell("no.txt"))
	ended := p.startQwen(t, m)
	asked := p.waitForQuestion(t, "PreToolUse")
	require.Equal(t, "qwen", asked.Agent)
	require.False(t, p.hasFile("yes.txt"), "the call waits")
	p.answer(t, asked, permission(true, ""))
	p.answer(t, p.waitForQuestion(t, "PreToolUse"), permission(false, "Leave no.txt alone."))
	t.Log(ended())
	require.True(t, p.hasFile("yes.txt"), "the approved call ran")
	require.False(t, p.hasFile("no.txt"), "the denied call did not run")
	require.Contains(t, m.toolResults(), "Leave no.txt alone.", "the model gets the reason")
	p.waitForEvent(t, "that a call ended", func(e *schema.Event) bool { return e.HookEventType == "PostToolUse" && e.Agent == "qwen" })
}

// Its documentation claims that PreToolUse accepts edited arguments, but it ignores them, so
// our adapter offers no edit there. If this test fails, the adapter can.
func TestQwen_IgnoresUpdatedInput(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	hook := filepath.Join(p.home, "hook")
	writeFile(t, p.home, "hook", `#!/bin/sh
cat > /dev/null
echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"yes","updatedInput":{"command":"echo ran > edited.txt","is_background":false}}}'
`)
	require.NoError(t, os.Chmod(hook, 0o700)) //nolint:gosec // it is run
	writeFile(t, p.home, ".qwen/settings.json", `{`+qwenQuiet+`,"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"`+hook+`","timeout":60000}]}]}}`)
	m := newModel(t, qwenShell("original.txt"))
	t.Log(p.startQwen(t, m)())
	require.True(t, p.hasFile("original.txt"))
	require.False(t, p.hasFile("edited.txt"))
}
