package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// startCodex starts Codex, configured to run every command without asking.
func (p *testEnv) startCodex(t testing.TB, m *model, env ...string) (wait func() string) {
	t.Helper()
	p.installHooks(t, "codex")
	p.configureCodex(t, m)
	return p.startProgram(t, append(p.codexEnv(), env...), agentProgram(t, "codex"),
		"exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "Go")
}

// configureCodex lets Codex use the mock model in a project that it trusts.
func (p *testEnv) configureCodex(t testing.TB, m *model) {
	t.Helper()
	writeFile(t, p.home, ".codex/config.toml", `model = "none"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = "`+m.url+`/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."`+p.project+`"]
trust_level = "trusted"
`)
}

// codexShell is a call of Codex's shell tool that creates a file.
func codexShell(file string) turn {
	return turn{tool: "exec_command", input: `{"cmd":"echo ran > ` + file + `"}`}
}

const geminiSettings = `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"general":{"disableAutoUpdate":true},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false}}`

// startGemini starts Gemini CLI, configured to run every tool without asking.
func (p *testEnv) startGemini(t testing.TB, m *model, env ...string) (wait func() string) {
	t.Helper()
	if !p.hooksInstalled {
		writeFile(t, p.home, ".gemini/settings.json", geminiSettings)
	}
	p.installHooks(t, "gemini")
	env = append(p.env("GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+m.url, "GEMINI_MODEL=gemini-2.5-pro", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_SANDBOX=false"), env...)
	return p.startProgram(t, env, agentProgram(t, "gemini"), "--approval-mode", "yolo", "-p", "Go")
}

func geminiShell(file string) turn {
	return turn{tool: "run_shell_command", input: `{"command":"echo ran > ` + file + `","description":"Leave a trace"}`}
}

// otherAgents are the agents with other model APIs.
var otherAgents = []struct {
	name  string
	api   dialect
	start func(p *testEnv, t testing.TB, m *model, env ...string) (wait func() string)
	call  func(file string) turn
}{
	{"codex", responsesAPI, (*testEnv).startCodex, codexShell},
	{"gemini", geminiAPI, (*testEnv).startGemini, geminiShell},
}

// Each agent would run every call without asking, but our policy asks a person.
func TestOtherAgents_ObeyPolicy(t *testing.T) {
	t.Parallel()
	for _, agent := range otherAgents {
		t.Run(agent.name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			writeFile(t, p.project, "hookback.json", `{"rules":[
{"tool":"Bash","when":{"command":{"contains":"never"}},"then":"deny","reason":"Not on this machine."},
{"tool":"Bash","then":"ask"}]}`)
			m := newDialectModel(t, agent.api, agent.call("yes.txt"), agent.call("no.txt"), agent.call("never.txt"))
			out := agent.start(p, t, m)
			asked := p.waitForQuestion(t, "PreToolUse")
			require.Equal(t, agent.name, asked.Agent)
			require.False(t, p.hasFile("yes.txt"), "the call waits")
			p.answer(t, asked, permission(true, ""))
			p.answer(t, p.waitForQuestion(t, "PreToolUse"), permission(false, "Leave no.txt alone."))
			t.Log(out())
			require.True(t, p.hasFile("yes.txt"), "the approved call ran")
			require.False(t, p.hasFile("no.txt"), "the denied call did not run")
			require.False(t, p.hasFile("never.txt"), "the call that the policy denies did not run")
			require.True(t, strings.Contains(m.lastRequest(), "Leave no.txt alone."), "the model gets the reason")
			require.True(t, strings.Contains(m.lastRequest(), "Not on this machine."))
			p.waitForEvent(t, "that a call ended", func(e *schema.Event) bool { return e.HookEventType == "PostToolUse" && e.Agent == agent.name })
		})
	}
}

// A call that the policy asks for must not run if no one is at the page or the agent. In a
// pipeline, a prompt would stay open forever.
func TestOtherAgents_WithoutHubDeny(t *testing.T) {
	t.Parallel()
	for _, agent := range otherAgents {
		t.Run(agent.name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
			p.hub.Stop()
			m := newDialectModel(t, agent.api, agent.call("no.txt"))
			t.Log(agent.start(p, t, m)()) // without HOOKBACK_HEADLESS in its environment
			require.False(t, p.hasFile("no.txt"), "never silently approved")
			require.True(t, strings.Contains(m.lastRequest(), "No Hookback hub answers"), "the model gets the cause")
		})
	}
}
