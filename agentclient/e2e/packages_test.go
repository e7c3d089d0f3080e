package e2e_test

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/install"
)

// agentPackage is the source of one agent's program.
type agentPackage struct {
	agent   string
	name    string // of the npm package, or "" if no registry has the program
	program string // pattern below node_modules
	notRun  string // why no test runs the agent, or ""
}

// agentPackages has every supported agent. An agent that no registry has is listed with the reason.
// Tests run the version of install.ProvenVersion, or with HOOKBACK_E2E_LATEST the newest one.
var agentPackages = []agentPackage{
	{agent: "claude-code", name: "@anthropic-ai/claude-code", program: "@anthropic-ai/claude-code-*/claude"},
	{agent: "codex", name: "@openai/codex", program: "@openai/codex-*/vendor/*/bin/codex"},
	{agent: "gemini", name: "@google/gemini-cli", program: ".bin/gemini"},
	{agent: "cursor", notRun: "its installer is not in a package registry, and it needs an account"},
	{agent: "copilot", name: "@github/copilot-linux-x64", program: "@github/copilot-linux-x64/copilot"},
	// Without the scripts of opencode-ai, its program is only in the platform's package.
	{agent: "opencode", name: "opencode-linux-x64", program: "opencode-linux-x64/bin/opencode"},
	{agent: "qwen", name: "@qwen-code/qwen-code", program: "@qwen-code/qwen-code/cli.js"},
	{agent: "droid", name: "droid", program: "@factory/cli-*/bin/droid"},
	{agent: "crush", notRun: "its npm package holds only a script that downloads the program from GitHub"},
	{agent: "cline", name: "cline", program: "@cline/cli-*/bin/cline"},
	{agent: "windsurf", notRun: "it is a desktop application"},
	{agent: "kiro", notRun: "its installer is not in a package registry, and it needs an account"},
	{agent: "antigravity", notRun: "it is a desktop application"},
}

// program is the installed program of an agent in the version that this run tests.
type program struct {
	version, path string
	err           error // why it could not be installed
}

// mcpInspector is the entry of programs that is no agent.
const mcpInspector = "mcp-inspector"

var programs = map[string]program{} // by agent, complete before the tests start

// installAgents installs all agents. It runs before the tests, so that no test's clock includes
// a download, and prints which versions are behind the newest ones.
func installAgents(c *npmCache, latest bool, log io.Writer) map[string]program {
	installed := map[string]program{}
	for _, a := range agentPackages {
		if a.name == "" {
			continue
		}
		p := program{version: install.ProvenVersion(a.agent)}
		if latest || p.version == "" {
			var newest string
			if newest, p.err = c.latest(a.name); p.err == nil && newest != p.version {
				_, _ = fmt.Fprintf(log, "behind: %s %s, newest %s\n", a.name, cmp.Or(p.version, "not proven"), newest)
				p.version = newest
			}
		}
		if p.err == nil {
			p.path, p.err = c.program(a.name, p.version, a.program)
		}
		installed[a.agent] = p
	}
	p := program{version: inspectorVersion}
	p.path, p.err = c.program("@modelcontextprotocol/inspector", p.version, ".bin/mcp-inspector")
	installed[mcpInspector] = p
	return installed
}

// agentProgram returns the path of an agent's program. The test fails if it can't be installed, because
// a run that leaves agents out must not pass. The result of the test is a result of the agent.
func agentProgram(t testing.TB, agent string) string {
	t.Helper()
	results.watch(t, agent)
	return installedProgram(t, agent)
}

func installedProgram(t testing.TB, name string) string {
	t.Helper()
	p := programs[name]
	require.NoError(t, p.err, "install %s", name)
	require.NotEmpty(t, p.path, "%s has no program", name)
	return p.path
}

// reportAgents prints which agents were installed and which were not, so that a missing agent is
// never overlooked.
func reportAgents(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "agent\tpackage\tinstalled\tnot run")
	for _, a := range agentPackages {
		source, installed := "-", "no"
		if p := programs[a.agent]; a.name != "" {
			source = a.name + "@" + p.version
			if p.path != "" {
				installed = "yes"
			}
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", a.agent, source, installed, a.notRun)
	}
	_ = table.Flush()
}

// Every supported agent either has a package or a reason why it isn't run. Only an agent with a
// package can be proven.
func TestAgentPackages_ListEveryAgent(t *testing.T) {
	t.Parallel()
	for i, info := range hook.Agents {
		require.Less(t, i, len(agentPackages))
		p := agentPackages[i]
		require.Equal(t, info.Name, p.agent)
		require.NotEqual(t, p.name == "", p.notRun == "", "%s has either a package or a reason", p.agent)
		require.True(t, p.name != "" || install.ProvenVersion(p.agent) == "", "no test can prove %s", p.agent)
	}
	require.Len(t, agentPackages, len(hook.Agents))
}

// Every package can be installed, and its program is of the version that its name has.
func TestAgentPackages_Install(t *testing.T) {
	t.Parallel()
	requireAgents(t)
	for _, p := range agentPackages {
		if p.name == "" {
			continue
		}
		t.Run(p.agent, func(t *testing.T) {
			t.Parallel()
			program, args := agentProgram(t, p.agent), []string{"--version"}
			if p.agent == "qwen" {
				program, args = "node", append([]string{program}, args...)
			}
			env := newUnwatchedEnv(t)
			version := exec.CommandContext(env.ctx, program, args...)
			version.Dir, version.Env = env.project, env.env()
			out, err := version.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), programs[p.agent].version)
		})
	}
}
