package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Without a terminal, Copilot and Qwen Code treat "ask" as a denial. So a call that the policy
// asks for doesn't run, and the agent doesn't wait forever.
func TestHeadlessAgents_WithoutHubDeny(t *testing.T) {
	t.Parallel()
	for _, agent := range []struct {
		name  string
		start func(p *testEnv, t testing.TB, m *model, env ...string) (wait func() string)
		call  func(file string) turn
	}{
		{"copilot", (*testEnv).startCopilot, copilotShell},
		{"qwen", (*testEnv).startQwen, qwenShell},
	} {
		t.Run(agent.name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			if agent.name == "qwen" {
				writeFile(t, p.home, ".qwen/settings.json", `{`+qwenQuiet+`}`)
			}
			p.installHooks(t, agent.name)
			writeFile(t, p.project, "hookback.json", `{"rules":[{"tool":"Bash","then":"ask"}]}`)
			p.hub.Stop()
			m := newModel(t, agent.call("no.txt"))
			t.Log(agent.start(p, t, m)())
			require.False(t, p.hasFile("no.txt"), "never silently approved")
			require.NotEmpty(t, m.toolResults(), "the model got a result, and the agent ended on its own")
		})
	}
}
