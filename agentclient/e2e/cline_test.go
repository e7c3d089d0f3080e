package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// startCline starts Cline's CLI, which runs every command without asking.
func (p *testEnv) startCline(t *testing.T, m *model) (wait func() string) {
	t.Helper()
	p.installHooks(t, "cline")
	writeFile(t, p.home, ".cline/data/settings/providers.json", `{"version":1,"lastUsedProvider":"anthropic","modes":{},"providers":{"anthropic":{
"settings":{"provider":"anthropic","apiKey":"none","model":"none","baseUrl":"`+m.url+`/v1"},"updatedAt":"2026-11-23T00:00:00.000Z","tokenSource":"manual"}}}`)
	return p.startProgram(t, p.env("CLINE_TELEMETRY_DISABLED=1"), agentProgram(t, "cline"), "-P", "anthropic", "-m", "none", "--json", "Go on")
}

func clineShell(file string) turn {
	return turn{tool: "run_commands", input: `{"commands":["echo ran > ` + file + `"]}`}
}

// A person approves one call, edits the second and denies the third, which ends the task.
func TestCline_ObeysPolicy(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	m := newModel(t, clineShell("yes.txt"), clineShell("original.txt"), clineShell("no.txt"))
	ended := p.startCline(t, m)
	asked := p.waitForQuestion(t, "PreToolUse")
	require.Equal(t, "cline", asked.Agent)
	require.False(t, p.hasFile("yes.txt"), "the call waits")
	p.answer(t, asked, permission(true, ""))
	second := p.waitForNextQuestion(t, asked)
	require.True(t, second.HumanInTheLoop.ToolCall.Editable)
	edit := permission(true, "")
	edit.ModifiedArguments = []byte(`{"commands":["echo ran > edited.txt"]}`)
	p.answer(t, second, edit)
	p.answer(t, p.waitForNextQuestion(t, second), permission(false, "Leave no.txt alone."))
	t.Log(ended())
	require.True(t, p.hasFile("yes.txt"), "the approved call ran")
	require.True(t, p.hasFile("edited.txt"), "the edited call ran")
	require.False(t, p.hasFile("original.txt"), "the unedited call did not run")
	require.False(t, p.hasFile("no.txt"), "the denied call did not run")
	p.waitForEvent(t, "that a call ended", func(e *schema.Event) bool {
		return e.HookEventType == "PostToolUse" && e.Agent == "cline" && e.ToolUseID == asked.ToolUseID
	})
}

// The policy denies a call in each form in which Cline accepts commands.
func TestCline_PolicyDenies(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{
		"commands": `{"commands":["ls","echo ran > never.txt"]}`,
		"list":     `["echo ran > never.txt"]`,
		"program":  `{"commands":[{"command":"touch","args":["never.txt"]}]}`,
		"cmd":      `{"cmd":"echo ran > never.txt"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","when":{"command":{"contains":"never"}},"then":"deny","reason":"Not on this machine."}]}`)
			t.Log(p.startCline(t, newModel(t, turn{tool: "run_commands", input: input}))())
			p.waitForEvent(t, "that the call was denied", func(e *schema.Event) bool { return e.HookEventType == "PreToolUse" && e.Agent == "cline" })
			require.False(t, p.hasFile("never.txt"))
		})
	}
}

// Without a hub no one can answer, and Cline has no prompt that a hook can open.
func TestCline_WithoutHubDenies(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
	p.hub.Stop()
	t.Log(p.startCline(t, newModel(t, clineShell("no.txt")))())
	require.False(t, p.hasFile("no.txt"), "never silently approved")
}
