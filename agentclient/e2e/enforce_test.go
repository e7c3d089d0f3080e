package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// enforcedAgents are the agents that can block a call whose hook can't run. Cursor is one, too,
// but no registry has it.
var enforcedAgents = []struct {
	name     string
	settings string // below the home directory
	initial  string // the settings before the installation
	model    func(t *testing.T, file string) *model
	start    func(p *testEnv, t testing.TB, m *model) (wait func() string)
}{
	{"claude-code", ".claude/settings.json", "{\n  \"includeCoAuthoredBy\":   false\n}\n",
		func(t *testing.T, file string) *model { return newModel(t, bashCall(file)) },
		func(p *testEnv, t testing.TB, m *model) func() string {
			return p.startClaude(t, m, "-p", "Go", "--allowedTools", "Bash")
		}},
	{"gemini", ".gemini/settings.json", geminiSettings,
		func(t *testing.T, file string) *model { return newDialectModel(t, geminiAPI, geminiShell(file)) },
		func(p *testEnv, t testing.TB, m *model) func() string { return p.startGemini(t, m) }},
	{"copilot", ".copilot/hooks/hookback.json", "",
		func(t *testing.T, file string) *model { return newModel(t, copilotShell(file)) },
		func(p *testEnv, t testing.TB, m *model) func() string { return p.startCopilot(t, m) }},
}

// The hookback program is gone. In mode enforce the agent blocks the call; in mode gate it
// runs, as in the trust model.
func TestEnforce_MissingProgramBlocksCalls(t *testing.T) {
	t.Parallel()
	for _, agent := range enforcedAgents {
		for _, mode := range []string{"enforce", "gate"} {
			t.Run(agent.name+" "+mode, func(t *testing.T) {
				t.Parallel()
				p := newTestEnv(t)
				original := p.hook
				p.hook = filepath.Join(p.home, "bin", "hookback")
				copyProgram(t, original, p.hook)
				settings := filepath.Join(p.home, filepath.FromSlash(agent.settings))
				if agent.initial != "" {
					writeFile(t, p.home, agent.settings, agent.initial)
				}
				p.installHooks(t, agent.name, "--mode", mode)
				p.hooksInstalled = true
				installed, err := os.ReadFile(settings)
				require.NoError(t, err)

				t.Log(agent.start(p, t, agent.model(t, "present.txt"))())
				require.True(t, p.hasFile("present.txt"), "the hook has no opinion")
				require.NoError(t, os.Rename(p.hook, p.hook+".gone"))
				t.Log(agent.start(p, t, agent.model(t, "gone.txt"))())
				require.Equal(t, mode == "gate", p.hasFile("gone.txt"))

				require.NoError(t, os.WriteFile(settings, installed, 0o600)) // without the agent's own changes
				uninstall := exec.CommandContext(p.ctx, original, "uninstall", "--agent", agent.name)
				uninstall.Dir, uninstall.Env = p.project, p.env("COPILOT_HOME="+p.home+"/.copilot")
				out, err := uninstall.CombinedOutput()
				require.NoError(t, err, "%s", out)
				after, _ := os.ReadFile(settings)
				require.Equal(t, agent.initial, string(after), "byte for byte")
			})
		}
	}
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
	out, err := exec.Command("cp", from, to).CombinedOutput() // in a separate process: no fd is open while it runs
	require.NoError(t, err, "%s", out)
}
