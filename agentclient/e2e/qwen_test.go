package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

const qwenVersion = "0.24.4"

// startQwen runs Qwen Code without prompts. wait blocks until it has ended.
func startQwen(t *testing.T, p *testEnv, m *model) (wait func() string) {
	t.Helper()
	program := npmProgram(t, "@qwen-code/qwen-code", qwenVersion, "@qwen-code/qwen-code/cli.js")
	r := &agentProcess{done: make(chan struct{})}
	r.cmd = exec.CommandContext(p.ctx, "node", program, "--auth-type", "anthropic", "-m", "none", "--approval-mode", "yolo", "Go")
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = p.project, &r.out, &r.out
	r.cmd.Env = p.env("ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+m.url, "ANTHROPIC_MODEL=none", "QWEN_SANDBOX=false")
	r.cmd.Stdin = bytes.NewReader(nil)
	r.cmd.WaitDelay = time.Second
	require.NoError(t, r.cmd.Start())
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait()
	}()
	t.Cleanup(func() { r.kill(t) })
	return func() string {
		<-r.done
		return r.out.String()
	}
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
	install := exec.CommandContext(p.ctx, p.hook, "install", "--agent", "qwen")
	install.Dir, install.Env = p.project, p.env()
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)
	writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	m := newModel(t, qwenShell("yes.txt"), qwenShell("no.txt"))
	ended := startQwen(t, p, m)
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
	t.Log(startQwen(t, p, m)())
	require.True(t, p.hasFile("original.txt"))
	require.False(t, p.hasFile("edited.txt"))
}
