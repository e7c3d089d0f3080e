package e2e_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
)

// agentPackage is the source of one agent's program.
type agentPackage struct {
	agent         string
	name, version string // of the npm package, or "" if no registry has the program
	program       string // pattern below node_modules
	notRun        string // why no test runs the agent, or ""
}

// agentPackages pins every supported agent at the newest version in the npm registry. An agent
// that no registry has is listed with the reason.
var agentPackages = []agentPackage{
	{agent: "claude-code", name: "@anthropic-ai/claude-code", version: "2.1.332", program: "@anthropic-ai/claude-code-*/claude"},
	{agent: "codex", name: "@openai/codex", version: "0.169.0", program: "@openai/codex-*/vendor/*/bin/codex"},
	{agent: "gemini", name: "@google/gemini-cli", version: "0.61.0", program: ".bin/gemini"},
	{agent: "cursor", notRun: "its installer is not in a package registry, and it needs an account"},
	{agent: "copilot", name: "@github/copilot-linux-x64", version: "1.0.102", program: "@github/copilot-linux-x64/copilot"},
	// Without the scripts of opencode-ai, its program is only in the platform's package.
	{agent: "opencode", name: "opencode-linux-x64", version: "1.18.34", program: "opencode-linux-x64/bin/opencode"},
	{agent: "qwen", name: "@qwen-code/qwen-code", version: "0.24.4", program: "@qwen-code/qwen-code/cli.js"},
	{agent: "droid", name: "droid", version: "0.215.0", program: "@factory/cli-*/bin/droid"},
	{agent: "crush", notRun: "its npm package holds only a script that downloads the program from GitHub"},
	{agent: "cline", name: "cline", version: "3.0.65", program: "@cline/cli-*/bin/cline"},
	{agent: "windsurf", notRun: "it is a desktop application"},
	{agent: "kiro", notRun: "its installer is not in a package registry, and it needs an account"},
	{agent: "antigravity", notRun: "it is a desktop application"},
}

// installedAgents reports for each agent that this run needed whether its program was installed.
var installedAgents sync.Map

// agentProgram returns the path of an agent's program. The test fails if it can't be installed.
func agentProgram(t testing.TB, agent string) string {
	t.Helper()
	i := slices.IndexFunc(agentPackages, func(p agentPackage) bool { return p.agent == agent })
	require.GreaterOrEqual(t, i, 0, "%s is not in agentPackages", agent)
	p := agentPackages[i]
	installedAgents.Store(agent, "no")
	program := npmProgram(t, p.name, p.version, p.program)
	installedAgents.Store(agent, "yes")
	return program
}

// reportAgents prints which agents were installed and which were not, so that a missing agent is
// never overlooked.
func reportAgents(w io.Writer) {
	if os.Getenv("HOOKBACK_E2E_AGENTS") == "" {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "agent\tpackage\tinstalled\tnot run")
	for _, p := range agentPackages {
		source, installed := "-", any("no")
		if p.name != "" {
			source, installed = p.name+"@"+p.version, "not needed"
		}
		if result, ok := installedAgents.Load(p.agent); ok {
			installed = result
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%v\t%s\n", p.agent, source, installed, p.notRun)
	}
	_ = table.Flush()
}

// Every supported agent is either pinned or has a reason why it isn't run.
func TestAgentPackages_ListEveryAgent(t *testing.T) {
	t.Parallel()
	for i, info := range hook.Agents {
		require.Less(t, i, len(agentPackages))
		p := agentPackages[i]
		require.Equal(t, info.Name, p.agent)
		require.True(t, p.name != "" || p.notRun != "", "%s has neither a package nor a reason", p.agent)
	}
	require.Len(t, agentPackages, len(hook.Agents))
}

// Every pinned package can be installed, and its program is of the pinned version.
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
			require.Contains(t, string(out), p.version)
		})
	}
}

// The agent matrix names the version of every agent that tests run.
func TestAgentPackages_MatchDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../server/docs/guide/agents.md")
	require.NoError(t, err)
	for _, p := range agentPackages {
		row := regexp.MustCompile("(?m)^.*\\| `" + p.agent + "` \\|.*$").FindString(string(document))
		require.NotEmpty(t, row, p.agent)
		if p.notRun == "" {
			require.Regexp(t, `\| run: .*`+regexp.QuoteMeta(p.version), row)
		} else {
			require.Contains(t, row, "| from its documentation")
		}
	}
}
