package hook_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/hook"
)

// claudeEvents are the events of Claude Code 2.1.332 that the hook reports, with an
// example input and the expected summary.
var claudeEvents = map[string]struct{ input, summary string }{
	"SessionStart":        {`"source":"resume","model":"claude-sonnet-5"`, "resume"},
	"Setup":               {`"trigger":"init"`, "init"},
	"SessionEnd":          {`"reason":"logout"`, "logout"},
	"UserPromptSubmit":    {`"prompt":"Tidy up\nthe tests"`, "Tidy up the tests"},
	"UserPromptExpansion": {`"expansion_type":"slash_command","command_name":"review","command_args":"","prompt":"/review"`, "review: /review"},
	"PreToolUse":          {`"tool_name":"Read","tool_input":{"file_path":"a.go"},"tool_use_id":"t"`, "Read: a.go"},
	"PreSkillShellCommand": {
		`"tool_name":"Bash","tool_input":{"command":"git log -3"},"tool_use_id":"t:inner:preamble-0","command_name":"review","command_source":"project","invoked_by":"user"`,
		"Bash: git log -3",
	},
	"PermissionRequest":  {`"tool_name":"WebFetch","tool_input":{"url":"https://go.dev"}`, "WebFetch: https://go.dev"},
	"PermissionDenied":   {`"tool_name":"Bash","tool_input":{"command":"rm x"},"tool_use_id":"t","reason":"auto mode"`, "Bash: rm x"},
	"PostToolUse":        {`"tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{},"tool_use_id":"t"`, "Bash: ls"},
	"PostToolUseFailure": {`"tool_name":"Agent","tool_input":{"description":"Look around"},"error":"no"`, "Agent: Look around"},
	"PostToolBatch":      {`"tool_calls":[{"tool_name":"Read"},{"tool_name":"Grep"},7]`, "Read, Grep"},
	"Notification":       {`"message":"Claude is waiting","notification_type":"idle_prompt"`, "Claude is waiting"},
	"SubagentStart":      {`"agent_id":"a1","agent_type":"Explore"`, "Explore"},
	"SubagentStop":       {`"agent_id":"a1","agent_type":"Explore","last_assistant_message":"Found it."`, "Explore: Found it."},
	"TaskCreated":        {`"task_id":"1","task_subject":"Write tests"`, "Write tests"},
	"TaskCompleted":      {`"task_id":"1","task_subject":"Write tests"`, "Write tests"},
	"TeammateIdle":       {`"teammate_name":"tester","team_name":"t"`, "tester"},
	"Stop":               {`"stop_hook_active":false,"last_assistant_message":"Done."`, "Done."},
	"StopFailure":        {`"error":"rate_limit","error_details":"429"`, "429"},
	"PreCompact":         {`"trigger":"auto","custom_instructions":""`, "auto"},
	"PostCompact":        {`"trigger":"manual","compact_summary":"…"`, "manual"},
	"PreModelSwitch":     {`"from_model":"a","to_model":"b","source":"picker"`, "b"},
	"PostModelSwitch":    {`"from_model":"a","to_model":"b","source":"auto"`, "b"},
	"Elicitation":        {`"mcp_server_name":"shop","message":"Sure?","mode":"form"`, "shop: Sure?"},
	"ElicitationResult":  {`"mcp_server_name":"shop","action":"accept"`, "shop: accept"},
	"ConfigChange":       {`"source":"user_settings","file_path":"/home/dev/.claude/settings.json"`, "user_settings: /home/dev/.claude/settings.json"},
	"CwdChanged":         {`"old_cwd":"/a","new_cwd":"/b"`, "/b"},
	"DirectoryAdded":     {`"directory":"/b","source":"slash_command"`, "/b"},
	"FileChanged":        {`"file_path":"/b/c","event":"unlink"`, "unlink: /b/c"},
	"InstructionsLoaded": {`"file_path":"/b/CLAUDE.md","memory_type":"Project","load_reason":"session_start"`, "/b/CLAUDE.md"},
	"WorktreeRemove":     {`"worktree_path":"/b/w"`, "/b/w"},
}

// Claude Code creates the prompt, not the user.
func TestTaskNotification_SummaryReplacesPrompt(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		`\n<task-notification>\n<task-id>a1</task-id>\n<summary>Agent \"Look around\"\n completed</summary>\n</task-notification>`: `Agent "Look around" completed`,
		`<task-notification>`:              "A background task has ended",
		`<task-notification><summary>Half`: "Half",
		`What is a <task-notification>?`:   "What is a <task-notification>?",
	} {
		c := parseClaude(t, `{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"`+prompt+`"}`)
		require.Equal(t, want, c.Event.Summary)
	}
}

func TestClaude_SummarizesEveryEvent(t *testing.T) {
	t.Parallel()
	require.Len(t, claudeEvents, 32)
	points := map[string]hook.Point{"PreToolUse": hook.DeferToPrompt, "PreSkillShellCommand": hook.Gate, "PermissionRequest": hook.Prompt, "Elicitation": hook.Prompt, "PermissionDenied": hook.Appeal}
	for event, want := range claudeEvents {
		c := parseClaude(t, `{"session_id":"s1","cwd":"/home/dev/shop","hook_event_name":"`+event+`",`+want.input+`}`)
		require.Equal(t, event, c.Event.HookEventType)
		require.Equal(t, "shop", c.Event.SourceApp)
		require.Equal(t, want.summary, c.Event.Summary, event)
		require.Equal(t, points[event], c.Point, event)
	}
}

func TestQuestion_NamesServerAndCommand(t *testing.T) {
	t.Parallel()
	codex, _ := hook.Find("codex")
	claude, _ := hook.Find("claude-code")
	for call, want := range map[string]string{
		`"tool_name":"mcp__stripe__refund","tool_input":{}`:                                          "Use refund of stripe?",
		`"tool_name":"mcp__my__server__do_thing","tool_input":{}`:                                    "Use mcp__my__server__do_thing?", // of my, or of my__server
		`"tool_name":"mcp__my__server__do_thing","tool_input":{},"mcp_server":{"name":"my__server"}`: "Use do_thing of my__server?",
		`"tool_name":"mcp__my__server__do_thing","tool_input":{},"mcp_server":{"name":"My"}`:         "Use server__do_thing of My?",
		`"tool_name":"mcp__my__server__do_thing","tool_input":{},"mcp_server":{"name":"other"}`:      "Use mcp__my__server__do_thing?",
		`"tool_name":"Bash","tool_input":{"command":["bash","-lc","rm -rf ./build"]}`:                "Run rm -rf ./build?",
		`"tool_name":"Bash","tool_input":{"command":["/bin/sh","-c","ls"]}`:                          "Run ls?",
		`"tool_name":"Bash","tool_input":{"command":["tar","-c","x y"]}`:                             "Run tar -c 'x y'?",
		`"tool_name":"Bash","tool_input":{"command":["./bash","-c","ls","it's"]}`:                    `Run ./bash -c ls 'it'\''s'?`,
		`"tool_name":"Bash","tool_input":{"command":["ls",1]}`:                                       `Run {"command":["ls",1]}?`,
	} {
		for _, agent := range []hook.AgentInfo{claude, codex} {
			input := `{"session_id":"s","cwd":"/b","hook_event_name":"PermissionRequest",` + call + `}`
			if agent.Name == "codex" {
				input = strings.Replace(input, `"Bash"`, `"shell"`, 1)
			}
			c, err := agent.Agent.Parse(hook.Input{Stdin: []byte(input), Env: func(string) string { return "" }})
			require.NoError(t, err)
			if agent.Name == "codex" && strings.Contains(call, "mcp_server") {
				continue // Codex does not state the server
			}
			require.Equal(t, want, c.Ask.Question, "%s %s", agent.Name, call)
		}
	}
}

// parseClaude parses an input that Claude Code wrote on an interactive terminal.
func parseClaude(t *testing.T, stdin string) hook.Call {
	t.Helper()
	claude, known := hook.Find("claude-code")
	require.True(t, known)
	in := hook.Input{Stdin: []byte(stdin), Env: func(string) string { return "" }}
	c, err := claude.Agent.Parse(in)
	require.NoError(t, err)
	requireValidCall(t, in, &c)
	return c
}

func TestClaude_HeadlessEntryPoints(t *testing.T) {
	t.Parallel()
	claude, _ := hook.Find("claude-code")
	for entry, headless := range map[string]bool{
		"": false, "cli": false, "claude-vscode": false, "claude-desktop": false, "remote": false,
		"sdk-cli": true, "sdk-py": true, "sdk-ts": true, "claude-code-github-action": true, "mcp": true,
	} {
		env := func(name string) string { return map[string]string{"CLAUDE_CODE_ENTRYPOINT": entry}[name] }
		c, err := claude.Agent.Parse(hook.Input{
			Stdin: []byte(`{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`), Env: env,
		})
		require.NoError(t, err)
		require.Equal(t, headless, c.Headless, entry)
		require.Equal(t, headless, c.Point == hook.Gate, entry)
	}
}

// Claude Code saves texts of more than 10,000 UTF-16 code units to a file, and the model
// would have to open it to learn the reason.
func TestClaude_TruncatesLongReason(t *testing.T) {
	t.Parallel()
	claude, _ := hook.Find("claude-code")
	for _, event := range []string{"PreToolUse", "PermissionRequest"} {
		c := parseClaude(t, `{"session_id":"s1","hook_event_name":"`+event+`","tool_name":"Bash","tool_input":{"command":"ls"}}`)
		for unit, fits := range map[string]int{"x": 9_999, "é": 9_999, "😀": 4_999} {
			for text, same := range map[string]bool{strings.Repeat(unit, fits): true, strings.Repeat(unit, fits+2): false} {
				reply := claude.Agent.Render(&c, hook.Verdict{Effect: hook.Deny, Reason: text})
				var out struct {
					HookSpecificOutput struct {
						PermissionDecisionReason string
						Decision                 struct{ Message string }
					}
				}
				require.NoError(t, json.Unmarshal(reply.Stdout, &out))
				got := out.HookSpecificOutput.PermissionDecisionReason + out.HookSpecificOutput.Decision.Message
				require.LessOrEqual(t, len(utf16.Encode([]rune(got))), 10_000)
				require.Equal(t, same, got == text, "%s × %d", unit, len(text))
				require.True(t, strings.HasPrefix(text, strings.TrimSuffix(got, "…")))
			}
		}
	}
}

// The shell lines of a skill run before the model reads it. An answer can only deny: Claude Code stops at an edit, and
// without an answer its own rules decide.
func TestClaude_GatesShellLinesOfSkills(t *testing.T) {
	t.Parallel()
	const input = `{"session_id":"s1","cwd":"/home/dev/shop","hook_event_name":"PreSkillShellCommand","tool_name":"Bash","tool_input":{"command":"git log -3"},
		"tool_use_id":"t:inner:preamble-0","command_name":"review","command_source":"project","invoked_by":"user"}`
	c := parseClaude(t, input)
	require.Empty(t, c.UnknownEvent)
	require.Equal(t, "git log -3", c.Command)
	require.Equal(t, "A shell line in the text of /review", c.Ask.Context.Why)
	claude, _ := hook.Find("claude-code")
	edited := json.RawMessage(`{"command":"ls"}`)
	for _, effect := range []hook.Effect{hook.Pass, hook.Ask, hook.Allow} {
		require.Empty(t, claude.Agent.Render(&c, hook.Verdict{Effect: effect, Reason: "x", Arguments: edited}).Stdout, effect)
	}
	denied := claude.Agent.Render(&c, hook.Verdict{Effect: hook.Deny, Reason: "no logs", Arguments: edited})
	require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"PreSkillShellCommand","permissionDecision":"deny","permissionDecisionReason":"no logs"}}`, string(denied.Stdout))

	without := parseClaude(t, `{"session_id":"s1","cwd":"/p","hook_event_name":"PreSkillShellCommand"}`)
	require.Equal(t, hook.Gate, without.Point, "a call without a tool is gated, too")
}
