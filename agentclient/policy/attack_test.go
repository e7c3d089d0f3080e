package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
)

// corpus returns the calls of a file, one a line: a command line, with ⏎ for a line break, or the arguments
// of an MCP tool, or those of another tool after {}NAME.
func corpus(t *testing.T, file string) (lines []string, calls []policy.Call) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, line)
		name, arguments, isNamed := strings.Cut(strings.TrimPrefix(line, "{}"), " ")
		switch {
		case strings.HasPrefix(line, "{}") && isNamed:
			calls = append(calls, aliasedCall(name, arguments))
		case strings.HasPrefix(line, `{"`):
			calls = append(calls, aliasedCall("mcp__fs__x", line))
		default:
			calls = append(calls, bashCall(strings.ReplaceAll(line, "⏎", "\n")))
		}
	}
	return lines, calls
}

const recursiveRm = `{"rules": [{"tool": "*", "when": {"command": {"runs": "rm", "option": ["r", "recursive"]}}, "then": "deny"}]}`

// Each line of the corpus may run rm -r, in one of the ways that hide it.
func TestRunsCondition_SeesHiddenCommands(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, recursiveRm)
	lines, calls := corpus(t, "attacks.txt")
	for i, c := range calls {
		require.NotEmpty(t, p.Evaluate(c).Effect, lines[i])
	}
}

// No line of the corpus runs rm -r, also if it mentions it.
func TestRunsCondition_IgnoresText(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, recursiveRm)
	lines, calls := corpus(t, "quiet.txt")
	for i, c := range calls {
		require.Empty(t, p.Evaluate(c).Effect, "%s: %s", lines[i], p.Evaluate(c).Reason)
	}
}

// Each line of the corpus may run git push.
func TestRunsCondition_SeesHiddenSubcommands(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, `{"rules": [{"tool": "*", "when": {"command": {"runs": "git push"}}, "then": "deny"}]}`)
	lines, calls := corpus(t, "pushes.txt")
	for i, c := range calls {
		require.NotEmpty(t, p.Evaluate(c).Effect, lines[i])
	}
}

// Each line of the corpus mentions rm or git push and runs neither.
func TestRunsCondition_IgnoresMentions(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, `{"rules": [
		{"tool": "*", "when": {"command": {"runs": "rm"}}, "then": "deny"},
		{"tool": "*", "when": {"command": {"runs": "git push"}}, "then": "deny"}]}`)
	lines, calls := corpus(t, "mentions.txt")
	for i, c := range calls {
		require.Empty(t, p.Evaluate(c).Effect, "%s: %s", lines[i], p.Evaluate(c).Reason)
	}
}

// Each line of the corpus has a glob, and after a tab a command that touches a file of it.
func TestFileCondition_FollowsDirectories(t *testing.T) {
	t.Parallel()
	for line, effect := range effectsOn(t, "directories.txt") {
		require.NotEmpty(t, effect, line)
	}
}

// No line of the corpus touches a file of its glob, as far as one can tell.
func TestFileCondition_IgnoresOtherFiles(t *testing.T) {
	t.Parallel()
	for line, effect := range effectsOn(t, "other_files.txt") {
		require.Empty(t, effect, line)
	}
}

// effectsOn returns the lines of a file, and the effect of a rule on the glob at the start of each on its command.
func effectsOn(t *testing.T, file string) map[string]policy.Effect {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	effects := map[string]policy.Effect{}
	for line := range strings.Lines(string(text)) {
		glob, command, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		p := mustParsePolicy(t, `{"rules": [{"tool": "*", "when": {"file": {"glob": "`+glob+`"}}, "then": "deny"}]}`)
		c := bashCall(strings.ReplaceAll(command, "⏎", "\n"))
		c.Dir = "/home/dev/shop"
		if line, isPowerShell := strings.CutPrefix(command, "PS> "); isPowerShell {
			c = bashCall(line)
			c.Name, c.Alias, c.Command, c.Dir = "PowerShell", "", "", `C:\dev\shop`
		}
		effects[line] = p.Evaluate(c).Effect
	}
	return effects
}

// Each line of the corpus touches .env.
func TestFileCondition_SeesEveryForm(t *testing.T) {
	t.Parallel()
	p := mustParsePolicy(t, `{"rules": [{"tool": "*", "when": {"file": {"glob": "*.env"}}, "then": "deny"}]}`)
	lines, calls := corpus(t, "env_files.txt")
	for i, c := range calls {
		require.NotEmpty(t, p.Evaluate(c).Effect, lines[i])
	}
	many := "ls " + strings.Repeat("a ", 5000) + "; cat .env"
	require.NotEmpty(t, p.Evaluate(bashCall(many)).Effect, "after more files than a call lists")
	for _, arguments := range []string{`{"pattern": "x"}`, `{"pattern": "x", "glob": "*.ts"}`, `{"pattern": "x", "glob": "*"}`} {
		require.Empty(t, p.Evaluate(aliasedCall("Grep", arguments)).Effect, arguments)
	}
}
