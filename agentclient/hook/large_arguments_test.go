package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// A call whose arguments would not fit into a request twice is asked with a reference.
func TestQuestion_RefersToLargeArguments(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789abcde\\n", 300_000)
	for agent, input := range map[string]struct{ stdin, ref string }{
		"claude-code": {`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Write","tool_input":{"file_path":"/w/a","content":"` + content + `"}}`, "/tool_input"},
		"cursor":      {`{"conversation_id":"c","hook_event_name":"preToolUse","cursor_version":"3","tool_name":"Write","tool_input":{"content":"` + content + `"}}`, "/tool_input"},
		"antigravity": {`{"conversationId":"c","toolCall":{"name":"write_to_file","args":{"TargetFile":"/w/a","CodeContent":"` + content + `"}},"stepIdx":1,"workspacePaths":["/w"]}`, "/toolCall/args"},
	} {
		info, _ := hook.Find(agent)
		c, err := info.Agent.Parse(hook.Input{Stdin: []byte(input.stdin), Env: func(string) string { return "" }})
		require.NoError(t, err, agent)
		q := c.Question()
		require.NoError(t, q.Validate(), agent)
		require.Equal(t, schema.ToolCall{ArgumentsRef: input.ref, ID: c.Ask.ToolCall.ID}, *q.ToolCall, agent)
		require.NotEmpty(t, c.Ask.ToolCall.Arguments, "Ask itself is unchanged")
		resolved := *q.ToolCall
		require.NoError(t, resolved.ResolveArguments(c.Event.Payload, c.Event.ToolName))
		require.Equal(t, string(c.Tool.Arguments), string(resolved.Arguments))

		e := c.Event
		e.HumanInTheLoop = &q
		body, err := json.Marshal(e)
		require.NoError(t, err)
		require.Less(t, len(body), schema.MaxBody)
	}
	claude, _ := hook.Find("claude-code")
	c, err := claude.Agent.Parse(hook.Input{Stdin: []byte(`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`), Env: func(string) string { return "" }})
	require.NoError(t, err)
	require.Equal(t, *c.Ask, c.Question(), "small arguments are sent twice, which every hub understands")
}
