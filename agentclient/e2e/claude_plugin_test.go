package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
)

// pluginEnv returns an environment of Claude Code in which the plugin finds hookback.
func (p *testEnv) pluginEnv(m *model) []string {
	return append(p.claudeEnv(m), "PATH="+filepath.Dir(p.hook)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// countEvents returns the number of events by type.
func (p *testEnv) countEvents(t testing.TB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, e := range p.events(t) {
		counts[e.HookEventType]++
	}
	return counts
}

// The plugin asks for each call once, whether its hooks are the only ones or an installation for the
// user added the same hooks.
func TestClaudePlugin_AsksOnce(t *testing.T) {
	t.Parallel()
	plugin, err := filepath.Abs("../../.claude-plugin/hookback")
	require.NoError(t, err)
	for name, prepare := range map[string]func(t *testing.T, p *testEnv){
		"plugin only": func(t *testing.T, p *testEnv) {
			t.Helper()
			p.installHooks(t, "codex") // pins the hub: the plugin's hooks have its address from the environment
		},
		"with entries of the user": func(t *testing.T, p *testEnv) {
			t.Helper()
			p.installHooks(t, "claude-code")
		},
		"with entries that are not loaded": func(t *testing.T, p *testEnv) {
			t.Helper()
			p.installHooks(t, "claude-code")
			file := filepath.Join(p.home, ".claude", "settings.json")
			settings, err := os.ReadFile(file)
			require.NoError(t, err)
			writeFile(t, p.home, ".claude/settings.json", "// Claude Code loads no settings with comments\n"+string(settings))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			prepare(t, p)
			m := newModel(t, bashCall("yes.txt"), bashCall("no.txt"))
			run := p.startProcess(t, p.pluginEnv(m), claudeProgram(t), "--plugin-dir", plugin, "-p", "Go", "--permission-mode", "default")
			p.answer(t, p.waitForQuestion(t, "PermissionRequest"), permission(true, ""))
			p.answer(t, p.waitForQuestion(t, "PermissionRequest"), permission(false, "Leave no.txt alone."))
			t.Log(run.wait())
			require.True(t, p.hasFile("yes.txt"), "the approved call ran")
			require.False(t, p.hasFile("no.txt"), "the denied call did not run")
			require.Contains(t, m.toolResults(), "Leave no.txt alone.")
			p.waitForEvent(t, "that the session ended", func(e *schema.Event) bool { return e.HookEventType == "SessionEnd" })
			counts := p.countEvents(t)
			require.Equal(t, 1, counts["UserPromptSubmit"])
			require.Equal(t, 2, counts["PreToolUse"])
			require.Equal(t, 2, counts["PermissionRequest"])
			require.Equal(t, 1, counts["SessionEnd"])
		})
	}
}

// No file of a project ends the gate of the plugin: not entries that look like Hookback's, and not variables that move
// the home directory or the settings.
func TestClaudePlugin_ObeysPolicyDespiteProject(t *testing.T) {
	t.Parallel()
	plugin, err := filepath.Abs("../../.claude-plugin/hookback")
	require.NoError(t, err)
	const fake = `{"type":"command","command":"hookback hook claude-code --observe"}`
	entry := func(members string) string { return `{"hooks":{"PreToolUse":[{` + members + `}]}}` }
	for name, settings := range map[string]string{
		"a matcher that never fits": entry(`"matcher":"Nothing","hooks":[{"type":"command","command":"hookback hook claude-code"}]`),
		"it only observes":          entry(`"hooks":[` + fake + `]`),
		"http to somewhere else":    entry(`"hooks":[{"type":"http","url":"http://127.0.0.1:9/hooks/claude-code"}]`),
		"a program of the project":  entry(`"hooks":[{"type":"command","command":"` + "PROJECT" + `/bin/hookback hook claude-code"}]`),
		"another home directory":    `{"env":{"HOME":"PROJECT/home"}}`,
		"other settings":            `{"env":{"CLAUDE_CONFIG_DIR":"PROJECT/home/.claude"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTestEnv(t)
			policy := filepath.Join(p.home, "account", "hookback.json")
			writeFile(t, p.home, "account/hookback.json", `{"rules":[{"tool":"Bash","then":"deny"}]}`)
			program := filepath.Join(p.project, "bin", "hookback")
			writeFile(t, p.project, "bin/hookback", "#!/bin/sh\nexit 0\n")
			require.NoError(t, os.Chmod(program, 0o700)) //nolint:gosec // a program
			settings := strings.ReplaceAll(settings, "PROJECT", p.project)
			writeFile(t, p.project, ".claude/settings.json", settings)
			writeFile(t, p.project, "home/.claude/settings.json", entry(`"hooks":[{"type":"command","command":"`+program+` hook claude-code"}]`))

			// The hooks of the plugin, with the policy of this test in place of the account's.
			hooks, err := os.ReadFile(filepath.Join(plugin, "hooks", "hooks.json"))
			require.NoError(t, err)
			writeFile(t, p.home, "plugin/.claude-plugin/plugin.json", `{"name":"hookback"}`)
			writeFile(t, p.home, "plugin/hooks/hooks.json", strings.ReplaceAll(string(hooks), " --plugin", " --plugin --policy "+policy))
			m := newModel(t, bashCall("no.txt"))
			run := p.startProcess(t, p.pluginEnv(m), claudeProgram(t), "--plugin-dir", filepath.Join(p.home, "plugin"), "-p", "Go", "--allowedTools", "Bash")
			t.Log(run.wait())
			require.False(t, p.hasFile("no.txt"), "the policy denies the call")
			require.Contains(t, m.toolResults(), "Denied by the Hookback policy")
		})
	}
}

// Claude Code accepts the repository as a marketplace and installs the plugin from it.
func TestClaudePlugin_InstallsFromMarketplace(t *testing.T) {
	t.Parallel()
	p := newTestEnv(t)
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	p.installHooks(t, "codex") // pins the hub
	m := newModel(t, bashCall("yes.txt"))
	for _, args := range [][]string{
		{"validate", repository}, {"validate", filepath.Join(repository, ".claude-plugin/hookback")},
		{"marketplace", "add", repository}, {"install", "hookback@hookback"},
	} {
		command := exec.CommandContext(p.ctx, claudeProgram(t), append([]string{"plugin"}, args...)...)
		command.Dir, command.Env = p.project, p.pluginEnv(m)
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run := p.startProcess(t, p.pluginEnv(m), claudeProgram(t), "-p", "Go", "--permission-mode", "default")
	p.answer(t, p.waitForQuestion(t, "PermissionRequest"), permission(true, ""))
	t.Log(run.wait())
	require.True(t, p.hasFile("yes.txt"))
}
