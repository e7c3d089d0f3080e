package hook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
)

// Claude Code cuts an output in the middle of an emoji.
func TestParse_ReplacesHalfCharacters(t *testing.T) {
	t.Parallel()
	const half = `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_response":"ok \ud83d"}`
	claude, ok := hook.Find("claude-code")
	require.True(t, ok)
	c, err := claude.Agent.Parse(hook.Input{Stdin: []byte(half), Env: func(string) string { return "" }, Dir: "/x"})
	require.NoError(t, err)
	require.True(t, c.Event.PayloadSanitized)
	require.Contains(t, string(c.Event.Payload), `"ok \ufffd"`)
}
