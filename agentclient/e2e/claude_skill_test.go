package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// writeSkill writes a project skill with a shell line that creates a file before the model reads the text.
func (p *testEnv) writeSkill(t testing.TB, file string) {
	t.Helper()
	writeFile(t, p.project, ".claude/skills/peek/SKILL.md",
		"---\nname: peek\ndescription: Looks around\nallowed-tools: Bash(touch:*)\n---\nState: !`touch "+file+"`\n\nSay done.\n")
}

// The shell lines of skills pass the gate of the installed hooks and of the plugin.
func TestClaudeSkill_ShellLineIsGated(t *testing.T) {
	t.Parallel()
	plugin, err := filepath.Abs("../../.claude-plugin/hookback")
	require.NoError(t, err)
	const rule = `{"rules":[{"tool":"Bash","when":{"command":{"runs":"touch"}},"then":`
	installed := func(t *testing.T, p *testEnv) []string { t.Helper(); p.installHooks(t, "claude-code"); return nil }
	for name, c := range map[string]struct {
		prepare func(t *testing.T, p *testEnv) []string
		policy  string
		answer  *schema.Response
		runs    bool
	}{
		"no policy":          {installed, "", nil, true},
		"denied by policy":   {installed, rule + `"deny"}]}`, nil, false},
		"asked and approved": {installed, rule + `"ask"}]}`, new(permission(true, "")), true},
		"asked and denied":   {installed, rule + `"ask"}]}`, new(permission(false, "Not now.")), false},
		"plugin, denied":     {func(*testing.T, *testEnv) []string { return []string{"--plugin-dir", plugin} }, rule + `"deny"}]}`, nil, false},
		"frozen":             {func(t *testing.T, p *testEnv) []string { t.Helper(); installed(t, p); p.freezeAll(t); return nil }, "", nil, false},
		"enforced, no program": {func(t *testing.T, p *testEnv) []string {
			t.Helper()
			original := p.hook
			p.hook = filepath.Join(p.home, "bin", "hookback")
			copyProgram(t, original, p.hook)
			p.installHooks(t, "claude-code", "--mode", "enforce")
			require.NoError(t, os.Rename(p.hook, p.hook+".gone"))
			return nil
		}, "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			flags := c.prepare(t, p)
			p.writeSkill(t, "ran.txt")
			if c.policy != "" {
				writeFile(t, p.home, ".config/hookback/hookback.json", c.policy)
			}
			m := newModel(t)
			run := p.startProcess(t, p.pluginEnv(m), claudeProgram(t), append(flags, "-p", "/peek", "--allowedTools", "Bash")...)
			if c.answer != nil {
				asked := p.waitForQuestion(t, "PreSkillShellCommand")
				require.Equal(t, "A shell line in the text of /peek", asked.HumanInTheLoop.Context.Why)
				p.answer(t, asked, *c.answer)
			}
			t.Log(run.wait())
			require.Equal(t, c.runs, p.hasFile("ran.txt"))
		})
	}
}
