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

// claudeEnv returns an environment in which Claude Code only contacts m.
func (p *testEnv) claudeEnv(m *model) []string {
	return p.env("ANTHROPIC_BASE_URL="+m.url, "ANTHROPIC_API_KEY=sk-ant-none", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_BUG_COMMAND=1", "DISABLE_COST_WARNINGS=1")
}

func claudeProgram(t testing.TB) string {
	t.Helper()
	return agentProgram(t, "claude-code")
}

// installHooks installs our hooks with the install command.
func (p *testEnv) installHooks(t testing.TB, agent string, flags ...string) {
	t.Helper()
	if p.hooksInstalled {
		return
	}
	install := exec.CommandContext(p.ctx, p.hook, append([]string{"install", "--agent", agent}, flags...)...)
	install.Dir, install.Env = p.project, p.env("CODEX_HOME="+p.home+"/.codex", "COPILOT_HOME="+p.home+"/.copilot")
	out, err := install.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// agentProcess is a running agent.
type agentProcess struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan struct{} // closed when the process has ended
}

// startProcess starts a program in the project, and kills it at the end of the test.
func (p *testEnv) startProcess(t testing.TB, env []string, program string, args ...string) *agentProcess {
	t.Helper()
	r := &agentProcess{done: make(chan struct{})}
	r.cmd = exec.CommandContext(p.ctx, program, args...)
	r.cmd.Dir, r.cmd.Env = p.project, env
	r.cmd.Stdout, r.cmd.Stderr, r.cmd.Stdin = &r.out, &r.out, bytes.NewReader(nil)
	r.cmd.WaitDelay = time.Second // a hook may keep the pipe open longer
	require.NoError(t, r.cmd.Start())
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait() // it fails if a call was denied
	}()
	t.Cleanup(func() { r.kill(t) })
	return r
}

// startProgram starts a program. wait blocks until it has ended and returns its output.
func (p *testEnv) startProgram(t testing.TB, env []string, program string, args ...string) (wait func() string) {
	t.Helper()
	return p.startProcess(t, env, program, args...).wait
}

// startClaudeProcess starts Claude Code, and kills it at the end of the test.
func (p *testEnv) startClaudeProcess(t testing.TB, m *model, args ...string) *agentProcess {
	t.Helper()
	return p.startProcess(t, p.claudeEnv(m), claudeProgram(t), args...)
}

// kill kills only the agent's process, not its children, and waits for it.
func (r *agentProcess) kill(t testing.TB) {
	t.Helper()
	_ = r.cmd.Process.Kill()
	<-r.done
}

// wait blocks until the agent has ended and returns its output.
func (r *agentProcess) wait() string {
	<-r.done
	return r.out.String()
}

// startClaude starts Claude Code. wait blocks until it has ended and returns its output.
func (p *testEnv) startClaude(t testing.TB, m *model, args ...string) (wait func() string) {
	t.Helper()
	return p.startClaudeProcess(t, m, args...).wait
}

func (p *testEnv) hasFile(name string) bool {
	_, err := os.Stat(filepath.Join(p.project, name))
	return err == nil
}

// bashCall is a call with a visible effect: it creates a file.
func bashCall(file string) turn {
	return turn{tool: "Bash", input: `{"command":"echo ran > ` + file + `","description":"Leave a trace"}`}
}

// No rule allows the call, so Claude Code asks its user for permission.
func TestClaude_AsksForPermission(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	yes := bashCall("yes.txt")
	yes.text = "I will leave a trace."
	m := newModel(t, yes, bashCall("no.txt"))
	out := p.startClaude(t, m, "-p", "Go", "--permission-mode", "default")

	asked := p.waitForQuestion(t, "PermissionRequest")
	require.Equal(t, "I will leave a trace.", asked.HumanInTheLoop.Context.LastMessage)
	require.Equal(t, "Go", asked.HumanInTheLoop.Context.UserPrompt)
	p.answer(t, asked, permission(true, ""))
	p.answer(t, p.waitForQuestion(t, "PermissionRequest"), permission(false, "Leave no.txt alone."))
	t.Log(out())
	require.True(t, p.hasFile("yes.txt"), "the approved call ran")
	require.False(t, p.hasFile("no.txt"), "the denied call did not run")
	require.Contains(t, m.toolResults(), "Leave no.txt alone.", "the model gets the reason")
	p.waitForEvent(t, "that the session stopped", func(e *schema.Event) bool { return e.HookEventType == "Stop" && e.Agent == "claude-code" })
}

// Claude Code's own rules allow the call, but our policy asks a person.
func TestClaude_HeadlessObeysPolicy(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	m := newModel(t, bashCall("yes.txt"), bashCall("no.txt"))
	out := p.startClaude(t, m, "-p", "Go", "--allowedTools", "Bash")

	asked := p.waitForQuestion(t, "PreToolUse")
	require.NotEmpty(t, asked.ToolUseID)
	require.False(t, p.hasFile("yes.txt"), "the call waits")
	p.answer(t, asked, permission(true, ""))
	p.answer(t, p.waitForQuestion(t, "PreToolUse"), permission(false, "Not that one."))
	t.Log(out())
	require.True(t, p.hasFile("yes.txt"))
	require.False(t, p.hasFile("no.txt"))
	require.Contains(t, m.toolResults(), "Not that one.")
}

// Claude Code runs the person's edit instead of the original call.
func TestClaude_RunsEditedCall(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	m := newModel(t, bashCall("asked.txt"))
	out := p.startClaude(t, m, "-p", "Go")
	yes := permission(true, "")
	yes.ModifiedArguments = []byte(`{"command":"echo ran > changed.txt"}`)
	p.answer(t, p.waitForQuestion(t, "PermissionRequest"), yes)
	t.Log(out())
	require.True(t, p.hasFile("changed.txt"))
	require.False(t, p.hasFile("asked.txt"))
}

// Without a hub no one can answer: the call does not run, and the model gets the reason.
func TestClaude_WithoutHubDenies(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	p.hub.Stop()
	m := newModel(t, bashCall("no.txt"))
	out := p.startClaude(t, m, "-p", "Go", "--allowedTools", "Bash")
	t.Log(out())
	require.False(t, p.hasFile("no.txt"), "never silently approved")
	require.Contains(t, m.toolResults(), "No Hookback hub answers", "the model gets the cause")
}

// The session dies with a pending question, so the hub withdraws it.
func TestClaude_KillWithdrawsQuestion(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	run := p.startClaudeProcess(t, newModel(t, bashCall("no.txt")), "-p", "Go")
	asked := p.waitForQuestion(t, "PermissionRequest")
	run.kill(t)
	end := p.waitForSettled(t, asked.ID)
	require.Equal(t, schema.Cancelled, end.Outcome)
	require.Equal(t, schema.ByOrphaned, end.Source)
	require.Equal(t, "the agent is gone", end.Reason)
}

// "Always allow" is Claude Code's suggestion, and is returned to it unchanged.
func TestClaude_RemembersAlwaysAllow(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	m := newModel(t, turn{tool: "Bash", input: `{"command":"git init -q made"}`}, turn{tool: "Bash", input: `{"command":"git init -q again"}`})
	out := p.startClaude(t, m, "-p", "Go", "--permission-mode", "default")
	asked := p.waitForQuestion(t, "PermissionRequest")
	require.NotEmpty(t, asked.HumanInTheLoop.Suggestions)
	yes := permission(true, "")
	yes.Remember = asked.HumanInTheLoop.Suggestions[0]
	p.answer(t, asked, yes)
	t.Log(out())
	require.True(t, p.hasFile("made"))
	require.True(t, p.hasFile("again"), "it did not ask again")
	settings, err := os.ReadFile(filepath.Join(p.project, ".claude", "settings.local.json"))
	require.NoError(t, err)
	require.Contains(t, string(settings), `"Bash(git init *)"`)
}

// One message makes the same call twice, so the hooks' inputs are equal and have no id. They
// become two questions, and resolving the first does not resolve the second.
func TestClaude_IdenticalCallsAreSeparate(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	call := turn{tool: "Bash", input: `{"command":"echo ran >> lines.txt"}`}
	both := call
	both.second = &call
	out := p.startClaude(t, newModel(t, both), "-p", "Go", "--permission-mode", "default")
	first := p.waitForQuestion(t, "PermissionRequest")
	p.answer(t, first, permission(true, ""))
	second := p.waitForNextQuestion(t, first)
	p.waitForEvent(t, "that the first ran", func(e *schema.Event) bool { return e.HookEventType == "PostToolUse" })
	p.answer(t, second, permission(false, "Once is enough."))
	t.Log(out())
	lines, err := os.ReadFile(filepath.Join(p.project, "lines.txt"))
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(lines))
}

// A subagent's question names the subagent.
func TestClaude_SubagentIsNamed(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "claude-code")
	m := newModel(t, turn{tool: "Agent", input: `{"description":"Look around","prompt":"Go","subagent_type":"general-purpose","run_in_background":false}`}, bashCall("yes.txt"))
	out := p.startClaude(t, m, "-p", "Go", "--permission-mode", "default")
	asked := p.waitForQuestion(t, "PermissionRequest")
	require.NotEmpty(t, asked.AgentID)
	require.Equal(t, "general-purpose", asked.AgentType)
	require.Equal(t, []string{"main", "general-purpose"}, asked.HumanInTheLoop.AgentPath)
	p.answer(t, asked, permission(true, ""))
	t.Log(out())
	require.True(t, p.hasFile("yes.txt"))
	p.waitForEvent(t, "that the subagent stopped", func(e *schema.Event) bool { return e.HookEventType == "SubagentStop" && e.AgentID == asked.AgentID })
}
