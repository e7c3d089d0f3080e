package hook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
)

// publishedFormats are the examples of Droid and of the agents that no test can run: they need a
// login, a desktop or a download that is not in a package registry. Inputs are the examples in the
// vendor's documents, with the common members of the same document filled in; denial and
// approval are the answers that the document defines.
var publishedFormats = []struct {
	agent, source, event string // source: where and when the format was published or read
	input                string
	alias, session       string
	denial, approval     hook.Reply
}{
	{
		agent: "antigravity", source: "antigravity.google/docs/hooks, as shipped with Antigravity 2.0 (docs/hooks.md), 2026-09-18", event: "PreToolUse",
		input: `{"toolCall":{"name":"run_command","args":{"CommandLine":"npm test"}},"stepIdx":19,"conversationId":"ec33ebf9-0cba-4100-8142-c61503f6c587",
"workspacePaths":["/path/to/workspace"],"transcriptPath":"/path/to/workspace/.gemini/antigravity/transcript.jsonl",
"artifactDirectoryPath":"/path/to/workspace/.gemini/antigravity/artifacts","modelName":"auto"}`,
		alias: "Bash", session: "ec33ebf9-0cba-4100-8142-c61503f6c587",
		denial:   hook.Reply{Stdout: []byte(`{"decision":"deny","reason":"Not now."}`)},
		approval: hook.Reply{Stdout: []byte(`{"decision":"allow"}`)},
	},
	{
		agent: "cline", source: "cline/cline apps/vscode/proto/cline/hooks.proto at 21cb8d2, 2026-08-22", event: "PreToolUse",
		input: `{"clineVersion":"3.90.1","hookName":"PreToolUse","timestamp":"1795167262135","taskId":"1795167200001","workspaceRoots":["/src/shop-api"],
"userId":"u","model":{"provider":"anthropic","slug":"claude-sonnet-5"},"preToolUse":{"toolName":"execute_command","parameters":{"command":"ls","requires_approval":"false"}}}`,
		alias: "Bash", session: "1795167200001",
		denial: hook.Reply{Stdout: []byte(`{"cancel":true,"errorMessage":"Not now."}`)},
	},
	{
		agent: "crush", source: "charmbracelet/crush docs/hooks/README.md at 37f36e9, 2026-08-21", event: "PreToolUse",
		input: `{"event":"PreToolUse","session_id":"313909e","cwd":"/home/user/project","tool_name":"bash","tool_input":{"command":"rm -rf /"}}`,
		alias: "Bash", session: "313909e",
		denial:   hook.Reply{Stdout: []byte(`{"decision":"deny","reason":"Not now."}`)},
		approval: hook.Reply{Stdout: []byte(`{"decision":"allow"}`)},
	},
	{
		agent: "droid", source: "Factory-AI/factory docs/reference/hooks-reference.mdx at a80aa7c, 2026-07-24", event: "PreToolUse",
		input: `{"session_id":"abc123","transcript_path":"/Users/.../.factory/projects/.../00893aaf-19fa-41d2-8238-13269b9b3ca0.jsonl","cwd":"/Users/...",
"permission_mode":"off","hook_event_name":"PreToolUse","tool_name":"Create","tool_input":{"file_path":"/path/to/file.txt","content":"file content"}}`,
		alias: "Write", session: "abc123",
		denial:   hook.Reply{Stdout: []byte(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Not now."}}`)},
		approval: hook.Reply{Stdout: []byte(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`)},
	},
	{
		agent: "kiro", source: "kiro.dev/docs/cli/hooks, 2025-11-24; not compared with Kiro 3", event: "PreToolUse",
		input: `{"hook_event_name":"preToolUse","cwd":"/current/working/directory","tool_name":"fs_read","tool_input":{"operations":[]}}`,
		alias: "Read", session: "kiro in directory",
		denial: hook.Reply{Stderr: []byte("Not now.\n"), Exit: 2},
	},
	{
		agent: "windsurf", source: "docs.windsurf.com/windsurf/cascade/hooks.md, copy of 2026-04-27", event: "PreToolUse",
		input: `{"agent_action_name":"pre_run_command","trajectory_id":"t","execution_id":"e","timestamp":"2026-04-27T10:00:00Z","tool_info":{"command_line":"npm install package-name","cwd":"/path/to/project"}}`,
		alias: "Bash", session: "t",
		denial: hook.Reply{Stderr: []byte("Not now.\n"), Exit: 2},
	},
}

// TestAgents_PublishedFormats checks the adapters of agents that no test runs against what
// their vendors published. The table in server/docs/guide/agents.md marks them as not run.
func TestAgents_PublishedFormats(t *testing.T) {
	t.Parallel()
	for _, format := range publishedFormats {
		t.Run(format.agent, func(t *testing.T) {
			t.Parallel()
			t.Log("format:", format.source)
			in := hook.Input{Stdin: []byte(format.input), Event: format.event, Dir: "/home/dev"}
			require.Equal(t, format.agent, hook.Identify("claude-code", in))
			info, ok := hook.Find(format.agent)
			require.True(t, ok)
			call, err := info.Agent.Parse(in)
			require.NoError(t, err)
			require.Equal(t, hook.Gate, call.Point)
			require.Equal(t, format.event, call.Event.HookEventType)
			require.Equal(t, format.session, call.Event.SessionID)
			require.Equal(t, format.alias, call.Alias)
			require.NotNil(t, call.Ask)
			require.Equal(t, format.denial, info.Agent.Render(&call, hook.Verdict{Effect: hook.Deny, Reason: "Not now."}))
			require.Equal(t, format.approval, info.Agent.Render(&call, hook.Verdict{Effect: hook.Allow}), "no output leaves the agent's own permissions in force")
		})
	}
}
