package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
)

// sampleAgent returns the agent that wrote a sample, from the file name.
func sampleAgent(path string) string {
	name := filepath.Base(path)
	if strings.HasPrefix(name, "claude-code-") {
		return "claude-code"
	}
	agent, _, _ := strings.Cut(name, "-")
	return agent
}

// Some agents run the hooks in Claude Code's settings, and others may do so later.
func TestIdentify_EverySample(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, samples, 36)
	for _, path := range samples {
		stdin, err := os.ReadFile(path)
		require.NoError(t, err)
		in := hook.Input{Stdin: stdin, Env: func(string) string { return "" }}
		own := sampleAgent(path)
		for _, called := range []string{own, "claude-code", ""} {
			require.Equal(t, own, hook.Identify(called, in), "%s, run as the hook of %q", path, called)
		}
	}
}

// The agent whose settings hold the hook runs it, unless the input proves otherwise.
func TestIdentify(t *testing.T) {
	t.Parallel()
	const plain = `{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Bash"}`
	for name, test := range map[string]struct{ called, stdin, env, want string }{
		"no evidence against it":              {"qwen", plain, "", "qwen"},
		"Claude Code's format":                {"claude-code", plain, "", "claude-code"},
		"no name":                             {"", plain, "", "claude-code"},
		"Cursor's environment":                {"claude-code", plain, "CURSOR_VERSION", "cursor"},
		"Droid's environment":                 {"claude-code", plain, "FACTORY_PROJECT_DIR", "droid"},
		"Qwen's environment":                  {"claude-code", plain, "QWEN_PROJECT_DIR", "qwen"},
		"inside another agent's terminal":     {"droid", plain, "CURSOR_VERSION", "droid"},
		"Claude Code in Cursor's terminal":    {"claude-code", `{"session_id":"s1","hook_event_name":"Stop","transcript_path":"/home/dev/.claude/projects/p/s1.jsonl"}`, "CURSOR_VERSION", "claude-code"},
		"Claude Code on Windows":              {"claude-code", `{"session_id":"s1","hook_event_name":"Stop","transcript_path":"C:\\Users\\dev\\.claude\\projects\\s1.jsonl"}`, "", "claude-code"},
		"Qwen on Windows":                     {"claude-code", `{"session_id":"s1","hook_event_name":"Stop","transcript_path":"C:\\Users\\dev\\.qwen\\projects\\s1.jsonl"}`, "", "qwen"},
		"moved Claude Code directory":         {"claude-code", `{"session_id":"s1","hook_event_name":"Stop","transcript_path":"/srv/claude/projects/p/s1.jsonl"}`, "", "claude-code"},
		"moved Codex home":                    {"claude-code", `{"session_id":"s1","hook_event_name":"SessionStart","model":"gpt","transcript_path":"/srv/codex/sessions/rollout-1.jsonl"}`, "", "codex"},
		"displayed text has a turn_id":        {"claude-code", `{"session_id":"s1","hook_event_name":"MessageDisplay","turn_id":"t"}`, "", "claude-code"},
		"Cursor in the settings of Codex":     {"codex", `{"hook_event_name":"preToolUse","cursor_version":"3.4","conversation_id":"c"}`, "", "cursor"},
		"project named like Qwen's directory": {"claude-code", `{"session_id":"s1","hook_event_name":"Stop","transcript_path":"/home/dev/.claude/projects/-home-dev-.qwen-x/s1.jsonl"}`, "", "claude-code"},
		"no JSON":                             {"gemini", `rm -rf /`, "", "gemini"},
	} {
		in := hook.Input{Stdin: []byte(test.stdin), Env: func(name string) string {
			if name == test.env {
				return "1"
			}
			return ""
		}}
		require.Equal(t, test.want, hook.Identify(test.called, in), name)
	}
}
