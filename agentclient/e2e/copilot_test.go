package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// startCopilot starts Copilot CLI, configured to run every tool without asking. With a custom
// model provider it needs no account.
func (p *testEnv) startCopilot(t testing.TB, m *model, env ...string) (wait func() string) {
	t.Helper()
	env = append(p.env("COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL="+m.url, "COPILOT_PROVIDER_API_KEY=none",
		"COPILOT_MODEL=claude-sonnet-4", "COPILOT_AUTO_UPDATE=false", "COPILOT_HOME="+p.home+"/.copilot", "COPILOT_OFFLINE=true"), env...)
	return p.startProgram(t, env, agentProgram(t, "copilot"), "-p", "Go", "--allow-all-tools", "--no-auto-update", "--log-level", "none")
}

func copilotShell(file string) turn {
	return turn{tool: "bash", input: `{"command":"echo ran > ` + file + `","description":"Leave a trace","mode":"sync","initial_wait":30}`}
}

// Copilot would run every call without asking, but our policy asks a person.
func TestCopilot_ObeysPolicy(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	p.installHooks(t, "copilot")
	writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	m := newModel(t, copilotShell("yes.txt"), copilotShell("no.txt"), copilotShell("original.txt"), copilotShell("merged.txt"))
	ended := p.startCopilot(t, m)
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
