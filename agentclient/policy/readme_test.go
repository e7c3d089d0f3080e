package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/policy"
)

// TestReadme_PolicyCoversEveryForm runs the README's example: each way to write a recursive
// deletion is a question, and other calls are not.
func TestReadme_PolicyCoversEveryForm(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "```json\n")
	require.True(t, ok)
	example, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	p := mustParsePolicy(t, example)
	for _, command := range []string{
		"rm -r x", "rm -rf x", "rm -fr x", "rm -r -f x", "rm -f -r x", "rm -R x", "rm x -fr", "rm --recursive x", "rm --force --recursive x", "rm --recurs x",
	} {
		for _, c := range commandForms(t, command) {
			got := p.Evaluate(c)
			require.Equal(t, policy.Ask, got.Effect, "%s", c.Arguments)
			require.Equal(t, "high", string(got.Risk))
		}
	}
	for _, command := range []string{"rm x", "rm -f x", "rm --force x", "ls -r x", "rmdir x", "rm -- -r"} {
		for _, c := range commandForms(t, command) {
			require.Empty(t, p.Evaluate(c).Effect, "%s", c.Arguments)
		}
	}
	require.Equal(t, policy.Deny, p.Evaluate(aliasedCall("mcp__shop__refund", `{"amount": 20000}`)).Effect)
}
