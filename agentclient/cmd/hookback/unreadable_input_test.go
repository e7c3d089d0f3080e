package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli/clitest"
)

// A hook never passes a call silently because it can't read it: a policy may have a rule for it.
func TestHook_UnreadableInputFollowsPolicy(t *testing.T) {
	t.Parallel()
	const (
		askBash   = `{"rules":[{"tool":"Bash","then":"ask"}]}`
		denyBash  = `{"rules":[{"tool":"Bash","then":"deny","reason":"No shell."}]}`
		allowBash = `{"rules":[{"tool":"Bash","then":"allow"}]}`
		asks      = `"permissionDecision":"ask"`
		unread    = "can't be read completely"
	)
	call := func(arguments string) string {
		return `{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"/w","tool_input":` + arguments + `,"tool_use_id":"t1"}`
	}
	deep := call(strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat(`}`, 20_000))
	truncated := call(`{"command":"rm -rf /"}`)[:130]
	gate := []string{"claude-code", "--event", "PreToolUse", "--limit", "60s"}
	for name, test := range map[string]struct {
		args          []string
		policy, stdin string
		want          []string // parts of the output; none: no output
		sent          bool
	}{
		"deep, ask":                {gate, askBash, deep, []string{asks, unread}, true},
		"deep, deny":               {gate, denyBash, deep, []string{`"deny"`, "No shell."}, true},
		"deep, allow":              {gate, allowBash, deep, []string{asks, unread}, true},
		"deep, no --event":         {[]string{"claude-code"}, allowBash, deep, []string{asks, unread}, true},
		"deep, no policy":          {gate, "", deep, nil, true},
		"deep, headless":           {[]string{"qwen", "--event", "PreToolUse"}, allowBash, deep, []string{asks}, true},
		"invalid arguments":        {gate, allowBash, call(`{"command":"rm \x"}`), []string{asks, unread}, true},
		"unquoted arguments":       {gate, denyBash, call(`{command}`), []string{`"deny"`}, true},
		"no tool name":             {gate, `{"rules":[{"tool":"*","then":"ask"}]}`, `{"session_id":"s1","hook_event_name":"PreToolUse"}`, []string{asks}, true},
		"truncated":                {gate, allowBash, truncated, []string{asks, unread}, true},
		"empty":                    {gate, allowBash, "", []string{asks, unread}, true},
		"a list":                   {gate, allowBash, "[1]", []string{asks, unread}, true},
		"truncated, no policy":     {gate, "", truncated, nil, false},
		"truncated, no --event":    {[]string{"claude-code"}, askBash, truncated, nil, false},
		"truncated, other event":   {[]string{"claude-code", "--event", "PostToolUse"}, askBash, truncated, nil, false},
		"truncated, own prompt":    {[]string{"claude-code", "--event", "PermissionRequest"}, askBash, truncated, nil, true},
		"truncated, observe":       {append(gate, "--observe"), askBash, truncated, nil, true},
		"truncated, can only deny": {[]string{"gemini", "--event", "BeforeTool"}, allowBash, truncated, []string{`"deny"`, "no one can be asked here"}, true},
		"truncated, exit status":   {[]string{"windsurf", "--event", "pre_run_command"}, allowBash, truncated, []string{unread}, true},
		"broken policy":            {gate, `{"rules":`, truncated, []string{asks, "the policy can't be read"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := clitest.StartHub(t, nil)
			c := newHookCommand(t, hub.URL(), test.stdin)
			c.args = test.args
			if test.policy != "" {
				require.NoError(t, os.WriteFile(filepath.Join(c.home, "hookback.json"), []byte(test.policy), 0o600))
			}
			got := c.run(t)
			if test.want == nil {
				require.Equal(t, noOutput, got)
			}
			for _, part := range test.want {
				require.Contains(t, got.out+got.err, part)
			}
			require.NotContains(t, got.out, `"allow"`)
			c.deliverSpooled()
			events := hub.Events()
			require.Equal(t, test.sent, len(events) == 1, "%d events", len(events))
			if test.sent {
				require.Equal(t, !strings.HasPrefix(name, "no tool name"), events[0].PayloadSanitized)
			}
		})
	}
}

// An event with invalid UTF-8 is sent, with a replacement character for the invalid bytes.
func TestHook_ReplacesInvalidUTF8(t *testing.T) {
	t.Parallel()
	hub := clitest.StartHub(t, nil)
	c := newHookCommand(t, hub.URL(), `{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"cat a"},"tool_response":"caf`+"\xe9\"}")
	require.Equal(t, noOutput, c.run(t))
	c.deliverSpooled()
	require.Len(t, hub.Events(), 1)
	require.True(t, hub.Events()[0].PayloadSanitized)
	require.Contains(t, string(hub.Events()[0].Payload), "caf\ufffd")
}
