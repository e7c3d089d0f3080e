package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// startDroid starts Droid, which runs every command without asking. With a custom model it needs
// no account.
func (p *testEnv) startDroid(t testing.TB, m *model, env ...string) (wait func() string) {
	t.Helper()
	writeFile(t, p.home, ".factory/settings.json", `{"customModels":[{"model":"none","displayName":"Mock","baseUrl":"`+m.url+`","apiKey":"none","provider":"anthropic","maxOutputTokens":4000}]}`)
	p.installHooks(t, "droid")
	return p.startProgram(t, append(p.env("DROID_DISABLE_AUTO_UPDATE=true"), env...), agentProgram(t, "droid"), "exec", "--auto", "high", "-m", "custom:Mock-0", "Go")
}

func droidShell(file string) turn {
	return turn{tool: "Execute", input: `{"command":"echo ran > ` + file + `","summary":"Leave a trace of it","riskLevelReason":"It writes one small file.","riskLevel":"low","timeout":60}`}
}

// Droid would run every call without asking, but our policy denies one and asks a person about
// the others.
func TestDroid_ObeysPolicy(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	writeFile(t, p.project, "hookback.json", `{"rules":[
{"tool":"Bash","when":{"command":{"contains":"never"}},"then":"deny","reason":"Not on this machine."},
{"tool":"Bash","then":"ask"}]}`)
	m := newModel(t, droidShell("yes.txt"), droidShell("no.txt"), droidShell("original.txt"), droidShell("never.txt"))
	ended := p.startDroid(t, m)
	asked := p.waitForQuestion(t, "PreToolUse")
	require.Equal(t, "droid", asked.Agent)
	require.False(t, p.hasFile("yes.txt"), "the call waits")
	p.answer(t, asked, permission(true, ""))
	denied := p.waitForNextQuestion(t, asked)
	p.answer(t, denied, permission(false, "Leave no.txt alone."))
	third := p.waitForNextQuestion(t, denied)
	require.Contains(t, m.toolResults(), "Leave no.txt alone.", "the model gets the reason")
	edited := permission(true, "")
	edited.ModifiedArguments = []byte(`{"command":"echo ran > edited.txt","summary":"Leave a trace of it","riskLevelReason":"It writes one small file.","riskLevel":"low","timeout":60}`)
	p.answer(t, third, edited)
	t.Log(ended())
	require.True(t, p.hasFile("yes.txt"), "the approved call ran")
	require.False(t, p.hasFile("no.txt"), "the denied call did not run")
	require.True(t, p.hasFile("edited.txt"), "the edited call ran")
	require.False(t, p.hasFile("original.txt"))
	require.False(t, p.hasFile("never.txt"), "the call that the policy denies did not run")
	require.Contains(t, m.toolResults(), "Not on this machine.")
	p.waitForEvent(t, "that a call ended", func(e *schema.Event) bool { return e.HookEventType == "PostToolUse" && e.Agent == "droid" })
}

// Without a terminal, Droid has no prompt, so a call that the policy asks for does not run.
func TestDroid_WithoutHubDenies(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	writeFile(t, p.project, "hookback.json", askForBash)
	p.hub.Stop()
	m := newModel(t, droidShell("no.txt"))
	t.Log(p.startDroid(t, m)())
	require.False(t, p.hasFile("no.txt"), "never silently approved")
	require.NotEmpty(t, m.toolResults(), "the model got a result, and the agent ended on its own")
}
