package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
	"github.com/hookback/hookback/schema"
)

// asSubagent returns an input as a call of a subagent, whose dialog is not open.
func asSubagent(input string) string {
	return strings.Replace(input, "{", `{"agent_id":"a4d2c8f1e0b3a297","agent_type":"Explore",`, 1)
}

// Claude Code opens a subagent's dialog when the hook has ended. So no flag decides instead, and
// the card states when the dialog opens.
func TestHook_SubagentPassesToPrompt(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"no flags": nil, "deny": {"--on-unreachable", "deny"}, "allow": {"--on-unreachable", "allow"}, "fail the run": {"--on-timeout", "fail_run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := clitest.StartHub(t, nil) // the fake hub has no clock and never reports a timeout
			c := newHookCommand(t, hub.URL(), asSubagent(readSample(t, "claude-code-PermissionRequest-Bash")), append(flags, "--limit", "2s")...)
			require.Equal(t, noOutput, c.run(t))
			q := hub.Events()[0].HumanInTheLoop
			require.False(t, q.AlsoAsked)
			require.InDelta(t, 1, q.PromptAfter, 0)
			require.LessOrEqual(t, *q.Timeout, 1.0)
		})
	}
	t.Run("two minutes", func(t *testing.T) {
		t.Parallel()
		hub := clitest.StartHub(t, nil)
		c := newHookCommand(t, hub.URL(), asSubagent(readSample(t, "claude-code-PermissionRequest-Bash")), "--limit", "1h")
		r := c.start(t, t.Context())
		q, err := hub.Question(t.Context(), 1)
		require.NoError(t, err)
		require.InDelta(t, 120, q.HumanInTheLoop.PromptAfter, 0)
		require.InDelta(t, 105, *q.HumanInTheLoop.Timeout, 15, "less the start of the process")
		_, err = q.Push(t.Context(), schema.Answer{Permission: ptr(true)})
		require.NoError(t, err)
		require.Equal(t, cliResult{0, allowed, ""}, r.wait())
	})
}
