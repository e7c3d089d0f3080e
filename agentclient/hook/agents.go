package hook

import (
	"time"

	"github.com/hookback/hookback/schema"
)

// AgentInfo is an entry of Agents.
type AgentInfo struct {
	Name  string // the name on the command line and in events
	Title string // the vendor's spelling
	Agent Agent
}

// adapter is the format of an agent's hook input and answers.
type adapter struct {
	name   string
	limit  time.Duration // the agent's default timeout for hooks
	parse  func(in Input, o object, c *Call)
	render func(c *Call, v Verdict) Reply

	events      nameList // the events that the agent is known to send
	eventMember string   // the member with the event's name, "" for hook_event_name
	// asGate returns the name of the agent's gate, and the members that its input would have for the
	// call of this input. ok is false if the input has no tool call.
	asGate func(o object) (event string, members object, ok bool)
}

const claudeEvents = `SessionStart Setup SessionEnd UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest PermissionDenied
	PostToolUse PostToolUseFailure PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated TaskCompleted
	TeammateIdle Stop StopFailure PreCompact PostCompact Elicitation ElicitationResult ConfigChange CwdChanged DirectoryAdded FileChanged
	InstructionsLoaded WorktreeCreate WorktreeRemove PreModelSwitch PostModelSwitch`

// Events that only one agent has.
const (
	geminiOwnEvents nameList = "BeforeTool AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection PreCompress"
	kiroOwnEvents   nameList = "agentSpawn userPromptSubmit preToolUse postToolUse stop"
)

// Agents lists every supported agent, the most common first. It is static data, because a hook starts
// with every tool call.
var Agents = []AgentInfo{
	{"claude-code", "Claude Code", &adapter{
		name: "claude-code", limit: 10 * time.Minute, parse: parseClaude, render: renderClaude,
		events: claudeEvents + " " + preSkillShellCommand, asGate: claudeGate,
	}},
	{"codex", "Codex CLI", &adapter{
		name: "codex", limit: 10 * time.Minute, parse: parseCodex, render: renderCodex,
		events: claudeEvents + " Interrupt", asGate: claudeGate,
	}},
	{"gemini", "Gemini CLI", &adapter{
		name: "gemini", limit: time.Minute, parse: parseGemini, render: renderGemini,
		events: geminiOwnEvents + " SessionStart SessionEnd Notification", asGate: geminiGate,
	}},
	{"cursor", "Cursor", &adapter{
		name: "cursor", limit: time.Minute, parse: parseCursor, render: renderCursor, asGate: cursorGate,
		events: `sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop beforeShellExecution
		afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit beforeSubmitPrompt preCompact stop
		afterAgentResponse afterAgentThought beforeTabFileRead afterTabFileEdit workspaceOpen`,
	}},
	{"copilot", "GitHub Copilot CLI", &adapter{
		name: "copilot", limit: 30 * time.Second, parse: parseCopilot, render: renderCopilot, asGate: claudeGate,
		events: claudeEvents + ` UserPromptTransformed ErrorOccurred sessionStart sessionEnd userPromptSubmitted userPromptTransformed preToolUse
		permissionRequest postToolUse postToolUseFailure agentStop subagentStart subagentStop preCompact notification errorOccurred`,
	}},
	{"opencode", "OpenCode", &adapter{
		name: "opencode", limit: time.Hour, parse: parseOpenCode, render: renderOpenCode, eventMember: "type", asGate: opencodeGate,
		events: `permission.asked permission.v2.asked permission.evaluate question.asked question.v2.asked tool.execute.before
		tool.execute.after session.created session.deleted session.idle session.error session.compacted`,
	}},
	{"qwen", "Qwen Code", &adapter{
		name: "qwen", limit: time.Minute, parse: parseQwen, render: renderQwen,
		events: claudeEvents + " TodoCreated TodoCompleted SessionDelete", asGate: claudeGate,
	}},
	{"droid", "Factory Droid", &adapter{
		name: "droid", limit: time.Minute, parse: parseDroid, render: renderDroid, events: claudeEvents, asGate: claudeGate,
	}},
	{"crush", "Crush", &adapter{
		name: "crush", limit: 30 * time.Second, parse: parseCrush, render: renderCrush,
		eventMember: "event", events: claudeEvents, asGate: claudeGate,
	}},
	{"cline", "Cline", &adapter{
		name: "cline", limit: 30 * time.Second, parse: parseCline, render: renderCline, eventMember: "hookName", asGate: clineGate,
		events: `tool_call tool_result agent_start agent_resume agent_abort agent_end agent_error prompt_submit pre_compact
		session_shutdown TaskStart TaskResume TaskCancel TaskComplete TaskError PreToolUse PostToolUse UserPromptSubmit PreCompact
		SessionShutdown`,
	}},
	{"windsurf", "Windsurf", &adapter{
		name: "windsurf", limit: 30 * time.Second, parse: parseWindsurf, render: renderExitStatus,
		eventMember: "agent_action_name", asGate: windsurfGate,
		events: `pre_read_code post_read_code pre_write_code post_write_code pre_run_command post_run_command
		pre_mcp_tool_use post_mcp_tool_use pre_user_prompt post_cascade_response post_setup_worktree`,
	}},
	{"kiro", "Kiro CLI", &adapter{
		name: "kiro", limit: 30 * time.Second, parse: parseKiro, render: renderExitStatus, events: kiroOwnEvents, asGate: kiroGate,
	}},
	{"antigravity", "Antigravity", &adapter{
		name: "antigravity", limit: 30 * time.Second, parse: parseAntigravity, render: renderAntigravity,
		eventMember: "hookEventName", events: "PreToolUse PostToolUse PreInvocation PostInvocation Stop", asGate: antigravityGate,
	}},
}

// Find returns the agent with that name and whether it exists.
func Find(name string) (AgentInfo, bool) {
	for _, a := range Agents {
		if a.Name == name {
			return a, true
		}
	}
	return AgentInfo{}, false
}

// parseKnown returns the call of an event whose name the adapter has.
func (a *adapter) parseKnown(in Input, p *parsedInput) (Call, error) {
	e := schema.Event{Agent: a.name, Payload: p.payload, PayloadSanitized: p.sanitized}
	c := Call{Event: e, Unreadable: p.unreadable, Limit: a.limit, mainDir: in.MainDir}
	if a.parse(in, p.members, &c); c.err != nil {
		return Call{}, c.err
	}
	return c, nil
}
