package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema/control"
)

// These models read a message with the result of the agent's next call.
func TestOtherAgents_ReadMessages(t *testing.T) {
	t.Parallel()
	startQwen := func(p *testEnv, t testing.TB, m *model, env ...string) func() string {
		writeFile(t, p.home, ".qwen/settings.json", `{`+qwenQuiet+`}`)
		p.installHooks(t, "qwen")
		return p.startQwen(t, m, env...)
	}
	for name, agent := range map[string]struct {
		model func(t testing.TB, turns ...turn) *model
		start func(p *testEnv, t testing.TB, m *model, env ...string) (wait func() string)
		call  func(file string) turn
	}{
		"codex":  {func(t testing.TB, turns ...turn) *model { return newDialectModel(t, responsesAPI, turns...) }, (*testEnv).startCodex, codexShell},
		"gemini": {func(t testing.TB, turns ...turn) *model { return newDialectModel(t, geminiAPI, turns...) }, (*testEnv).startGemini, geminiShell},
		"qwen":   {newModel, startQwen, qwenShell},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			s := p.newSender(t)
			sent := make(chan struct{})
			first := agent.call("a.txt")
			first.after = sent
			m := agent.model(t, first, agent.call("b.txt"))
			ended := agent.start(p, t, m)
			start := p.waitForStart(t)
			s.send(t, start, "Use port 8081.")
			close(sent)
			t.Log(ended())
			require.True(t, p.hasFile("a.txt"))
			require.True(t, p.hasFile("b.txt"))
			require.Contains(t, strings.Join(m.conversation.requests, "\n"), messageHead+"Use port 8081.")
			s.waitForState(t, start, control.MessageActedOn)
		})
	}
}
