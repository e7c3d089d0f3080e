package e2e_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

const copilotVersion = "1.0.102"

// startCopilot runs Copilot CLI without prompts. wait blocks until it has ended. With a
// custom model provider it needs no account.
func startCopilot(t *testing.T, p *testEnv, m *model) (wait func() string) {
	t.Helper()
	program := npmProgram(t, "@github/copilot-linux-x64", copilotVersion, "@github/copilot-linux-x64/copilot")
	r := &agentProcess{done: make(chan struct{})}
	r.cmd = exec.CommandContext(p.ctx, program, "-p", "Go", "--allow-all-tools", "--no-auto-update", "--log-level", "none")
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = p.project, &r.out, &r.out
	r.cmd.Env = p.env("COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL="+m.url, "COPILOT_PROVIDER_API_KEY=none",
		"COPILOT_MODEL=claude-sonnet-4", "COPILOT_AUTO_UPDATE=false", "COPILOT_HOME="+p.home+"/.copilot", "COPILOT_OFFLINE=true")
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

func copilotShell(file string) turn {
	return turn{tool: "bash", input: `{"command":"echo ran > ` + file + `","description":"Leave a trace","mode":"sync","initial_wait":30}`}
}

// Copilot would run every call without asking, but our policy asks a person.
func TestCopilot_ObeysPolicy(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	install := exec.CommandContext(p.ctx, p.hook, "install", "--agent", "copilot")
	install.Dir, install.Env = p.project, p.env("COPILOT_HOME="+p.home+"/.copilot")
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)
	writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	m := newModel(t, copilotShell("yes.txt"), copilotShell("no.txt"), copilotShell("original.txt"), copilotShell("merged.txt"))
	ended := startCopilot(t, p, m)
	asked := p.waitForQuestion(t, "PreToolUse")
	require.Equal(t, "copilot", asked.Agent)
	require.False(t, p.hasFile("yes.txt"), "the call waits")
	p.answer(t, asked, permission(true, ""))
	p.answer(t, p.waitForQuestion(t, "PreToolUse"), permission(false, "Leave no.txt alone."))
	third := p.waitForQuestion(t, "PreToolUse")
	require.Contains(t, m.toolResults(), "Leave no.txt alone.", "the model gets the reason")
	edited := permission(true, "")
	edited.ModifiedArguments = json.RawMessage(`{"command":"echo ran > edited.txt","description":"Leave a trace"}`)
	p.answer(t, third, edited)
	edited.ModifiedArguments = json.RawMessage(`{"description":"Without a command"}`)
	p.answer(t, p.waitForQuestion(t, "PreToolUse"), edited)
	t.Log(ended())
	require.True(t, p.hasFile("yes.txt"), "the approved call ran")
	require.False(t, p.hasFile("no.txt"), "the denied call did not run")
	require.True(t, p.hasFile("edited.txt"), "the edited call ran")
	require.False(t, p.hasFile("original.txt"))
	require.False(t, p.hasFile("merged.txt"), "an edit replaces all arguments")
	p.waitForEvent(t, "that a call ended", func(e *schema.Event) bool { return e.HookEventType == "PostToolUse" && e.Agent == "copilot" })
}
