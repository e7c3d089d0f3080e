package install_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// loadedHandler is one handler as the agent's loader parses it.
type loadedHandler struct {
	Type, Name, Command, Exec, Bash, StatusMessage, Matcher string
	Args                                                    []string
	Timeout, TimeoutSec, TimeoutMS                          *float64
	Async                                                   bool
	ShowOutput                                              *bool
}

// loaderRules are the known requirements of an agent's loader for hooks. Other settings
// are not checked.
type loaderRules struct {
	events       []string // the accepted events
	members      []string // the accepted members of a handler
	nested       bool
	strict       bool   // plain JSON, no comments; not set for Claude Code, whose older versions accept them
	root         string // name of the member with the events
	version      bool   // "version": 1
	milliseconds bool   // timeouts are milliseconds
	maxTimeouts  map[string]float64
}

var loaderRulesByAgent = map[string]loaderRules{
	"claude-code": {
		events: fieldNames(`SessionStart Setup SessionEnd UserPromptSubmit UserPromptExpansion PreToolUse PreSkillShellCommand PermissionRequest PermissionDenied PostToolUse
			PostToolUseFailure PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated TaskCompleted TeammateIdle Stop StopFailure
			PreCompact PostCompact Elicitation ElicitationResult ConfigChange CwdChanged DirectoryAdded FileChanged InstructionsLoaded WorktreeCreate WorktreeRemove`),
		members: fieldNames("type command args timeout async asyncRewake shell statusMessage if once onFailure"), nested: true, root: "hooks",
		maxTimeouts: map[string]float64{"SessionEnd": 60},
	},
	"codex": {
		events: fieldNames(`SessionStart SessionEnd UserPromptSubmit PreToolUse PermissionRequest PostToolUse SubagentStart SubagentStop PreCompact PostCompact
			Stop Interrupt`),
		members: fieldNames("type command commandWindows timeout async statusMessage"), nested: true, strict: true, root: "hooks",
		maxTimeouts: map[string]float64{"SessionEnd": 3, "Interrupt": 3},
	},
	"gemini": {
		events: fieldNames(`BeforeTool AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection SessionStart SessionEnd PreCompress
			Notification`),
		members: fieldNames("type name command timeout description"), nested: true, root: "hooks", milliseconds: true,
	},
	"cursor": {
		events: fieldNames(`sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop beforeShellExecution
			afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit beforeSubmitPrompt preCompact stop
			afterAgentResponse afterAgentThought beforeTabFileRead afterTabFileEdit workspaceOpen`),
		members: fieldNames("command type timeout matcher failClosed loop_limit"), root: "hooks", version: true,
	},
	"copilot": {
		events: fieldNames(`SessionStart SessionEnd UserPromptSubmit UserPromptTransformed PreToolUse PermissionRequest PostToolUse PostToolUseFailure Stop
			SubagentStart SubagentStop PreCompact Notification ErrorOccurred`),
		members: fieldNames("type exec args bash powershell command cwd env timeoutSec timeout matcher"), strict: true, root: "hooks", version: true,
	},
	"qwen": {
		events: fieldNames(`SessionStart SessionEnd UserPromptSubmit PreToolUse PermissionRequest PermissionDenied PostToolUse PostToolUseFailure
			PostToolBatch Notification SubagentStart SubagentStop PreCompact PostCompact Stop StopFailure TodoCreated TodoCompleted MessageDisplay SessionDelete`),
		members: fieldNames("type name command timeout async env shell statusMessage description"), nested: true, root: "hooks", milliseconds: true,
	},
	"droid": {
		events:  fieldNames("PreToolUse PostToolUse Notification UserPromptSubmit Stop SubagentStop PreCompact SessionStart SessionEnd"),
		members: fieldNames("type command timeout"), nested: true,
	},
	"crush": {events: fieldNames("PreToolUse PreCompact"), members: fieldNames("name matcher command timeout"), root: "hooks"},
	"windsurf": {
		events: fieldNames(`pre_read_code post_read_code pre_write_code post_write_code pre_run_command post_run_command pre_mcp_tool_use post_mcp_tool_use
			pre_user_prompt post_cascade_response post_setup_worktree`),
		members: fieldNames("command powershell show_output working_directory"), strict: true, root: "hooks",
	},
	"antigravity": {
		events:  fieldNames("PreToolUse PostToolUse PreInvocation PostInvocation Stop"),
		members: fieldNames("type command timeout"), nested: true, strict: true, root: "hookback",
	},
	"kiro": {
		events:  fieldNames("agentSpawn userPromptSubmit preToolUse postToolUse stop"),
		members: fieldNames("command matcher timeout_ms cache_ttl_seconds"), strict: true, root: "hooks", milliseconds: true,
	},
}

// minify returns content without comments and white space.
func minify(content string) (string, error) {
	d, err := jsonc.Parse(content)
	if err != nil {
		return "", err
	}
	return jsonc.Minify(d.Lookup()), nil
}

func fieldNames(s string) []string { return strings.Fields(s) }

// requireLoads parses a settings file like the agent, and fails the test if the agent
// would reject it.
func requireLoads(t *testing.T, agent, content string) {
	t.Helper()
	l := loaderRulesByAgent[agent]
	text := content
	if !l.strict {
		if agent == "cursor" { // its comment stripper ignores string boundaries
			text = regexp.MustCompile(`//[^\n]*`).ReplaceAllString(content, "")
		} else {
			plain, err := minify(content)
			require.NoError(t, err)
			text = plain
		}
	}
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &file))
	if l.version {
		require.Equal(t, "1", string(file["version"]))
	}
	var events map[string][]json.RawMessage
	if l.root == "" {
		require.NoError(t, json.Unmarshal([]byte(text), &events))
	} else {
		require.NoError(t, json.Unmarshal(file[l.root], &events))
	}
	ours := 0
	for event, entries := range events {
		require.Contains(t, l.events, event, "%s does not support this event", agent)
		for _, entry := range entries {
			for _, h := range l.handlers(t, entry) {
				if bytes.Contains(h, []byte("hook "+agent)) || bytes.Contains(h, []byte(`"hook",`)) || bytes.Contains(h, []byte(`"hook", "`+agent)) {
					ours++
					l.check(t, agent, event, h)
				}
			}
		}
	}
	require.Positive(t, ours)
}

// handlers returns the handlers of an entry: the entry itself, or the handlers of its group.
func (l loaderRules) handlers(t *testing.T, entry json.RawMessage) []json.RawMessage {
	t.Helper()
	var group struct {
		Matcher string
		Hooks   []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(entry, &group))
	if l.nested && group.Hooks != nil {
		return group.Hooks
	}
	return []json.RawMessage{entry}
}

// check validates one of our handlers against the agent's rules.
func (l loaderRules) check(t *testing.T, agent, event string, raw json.RawMessage) {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &members))
	for name := range members {
		require.True(t, slices.Contains(l.members, name), "%s does not support %q in a handler", agent, name)
	}
	raw = bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("timeout_ms"), []byte("timeoutMS")), []byte("show_output"), []byte("showOutput"))
	var h loadedHandler
	require.NoError(t, json.Unmarshal(raw, &h))
	line := h.Command + h.Bash + h.Exec + " " + strings.Join(h.Args, " ")
	require.Contains(t, line, "hook "+agent)
	if h.Exec != "" {
		require.Empty(t, h.Command+h.Bash, "exec excludes the other commands")
	}
	for _, timeout := range []*float64{h.Timeout, h.TimeoutSec, h.TimeoutMS} {
		if timeout == nil {
			continue
		}
		seconds := *timeout
		if l.milliseconds {
			require.GreaterOrEqual(t, seconds, 1000.0, "milliseconds")
			seconds /= 1000
		}
		require.LessOrEqual(t, seconds, 3600.0)
		if most := l.maxTimeouts[event]; most > 0 {
			require.LessOrEqual(t, seconds, most)
		}
		if limit := regexp.MustCompile(`--limit (\d+)s`).FindStringSubmatch(line); limit != nil {
			require.EqualValues(t, limit[1], json.Number(strings.TrimSuffix(string(mustJSON(t, seconds)), ".0")), "the hook's limit equals the agent's timeout")
		}
	}
	if h.Async {
		require.NotContains(t, line, "--limit", "a deciding hook can't be async")
		require.NotEqual(t, "SessionEnd", event)
	}
	if members["onFailure"] != nil {
		require.NotEqual(t, "PermissionRequest", event, "it would remove the dialog")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}
