// Package renamed recognizes a tool call in an agent's hook input whose event has an unknown
// name. It has the events of each agent, and the form of the input of its gate.
package renamed

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/hook/internal/jsonscan"
	"github.com/hookback/hookback/agentclient/hook/internal/textform"
)

// gateFormat describes how an agent's input names its event, so that an event under a new
// name can be recognized as a call that is about to run.
type gateFormat struct {
	eventMember string // the member with the event's name, "" for hook_event_name
	// events are the names that the agent is known to send, separated by spaces.
	events string
	// asGate returns the name of the agent's gate, and the members that its input would have
	// for this call. ok is false if the input has no tool call.
	asGate func(o object) (event string, members object, ok bool)
}

const claudeEvents = `SessionStart Setup SessionEnd UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest PermissionDenied PostToolUse
	PostToolUseFailure PostToolBatch Notification MessageDisplay SubagentStart SubagentStop TaskCreated TaskCompleted TeammateIdle Stop StopFailure
	PreCompact PostCompact Elicitation ElicitationResult ConfigChange CwdChanged DirectoryAdded FileChanged InstructionsLoaded WorktreeCreate WorktreeRemove PreModelSwitch PostModelSwitch`

// formatOf returns the format of an agent. It is a function because the hook is a short-lived
// process, and a table would be built at each start.
func formatOf(agent string) gateFormat {
	switch agent {
	case "claude-code":
		return gateFormat{events: claudeEvents + " PreSkillShellCommand", asGate: namedTool("PreToolUse")}
	case "codex":
		return gateFormat{events: claudeEvents + " Interrupt", asGate: namedTool("PreToolUse")}
	case "droid":
		return gateFormat{events: claudeEvents, asGate: namedTool("PreToolUse")}
	case "qwen":
		return gateFormat{events: claudeEvents + " TodoCreated TodoCompleted SessionDelete", asGate: namedTool("PreToolUse")}
	case "crush":
		return gateFormat{eventMember: "event", events: claudeEvents, asGate: namedTool("PreToolUse")}
	case "gemini":
		return gateFormat{events: `BeforeTool AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection PreCompress SessionStart SessionEnd Notification`, asGate: namedTool("BeforeTool")}
	case "kiro":
		return gateFormat{events: "agentSpawn userPromptSubmit preToolUse postToolUse stop", asGate: namedTool("preToolUse")}
	case "copilot":
		return gateFormat{events: claudeEvents + ` UserPromptTransformed ErrorOccurred sessionStart sessionEnd userPromptSubmitted userPromptTransformed preToolUse
		permissionRequest postToolUse postToolUseFailure agentStop subagentStart subagentStop preCompact notification errorOccurred`, asGate: namedTool("PreToolUse")}
	case "cursor":
		return gateFormat{events: `sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop beforeShellExecution afterShellExecution
		beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit beforeSubmitPrompt preCompact stop afterAgentResponse afterAgentThought
		beforeTabFileRead afterTabFileEdit workspaceOpen`, asGate: cursorGate}
	case "cline":
		return gateFormat{eventMember: "hookName", events: `tool_call tool_result agent_start agent_resume agent_abort agent_end agent_error prompt_submit pre_compact
		session_shutdown TaskStart TaskResume TaskCancel TaskComplete TaskError PreToolUse PostToolUse UserPromptSubmit PreCompact SessionShutdown`, asGate: clineGate}
	case "windsurf":
		return gateFormat{eventMember: "agent_action_name", events: `pre_read_code post_read_code pre_write_code post_write_code pre_run_command post_run_command
		pre_mcp_tool_use post_mcp_tool_use pre_user_prompt post_cascade_response post_setup_worktree`, asGate: windsurfGate}
	case "antigravity":
		return gateFormat{eventMember: "hookEventName", events: "PreToolUse PostToolUse PreInvocation PostInvocation Stop", asGate: antigravityGate}
	case "opencode":
		return gateFormat{eventMember: "type", events: `permission.asked permission.v2.asked permission.evaluate question.asked question.v2.asked tool.execute.before
		tool.execute.after session.created session.deleted session.idle session.error session.compacted`, asGate: opencodeGate}
	default:
		return gateFormat{}
	}
}

// Gate returns the input as the agent would send it for a call that is about to run: the name
// of the event in the input, and the name and the members of the agent's gate. The input is
// of an event with an unknown name that carries a tool call without a result; otherwise ok is
// false. event is the name from the command line.
func Gate(agent string, input map[string]json.RawMessage, event string) (native, gate string, members map[string]json.RawMessage, ok bool) {
	format, o := formatOf(agent), object(input)
	member := cmp.Or(format.eventMember, "hook_event_name")
	native = cmp.Or(o.text(member), o.text("hook_event_name"), o.text("hookEventName"), event)
	if native == "" || format.asGate == nil || slices.Contains(strings.Fields(format.events), native) || hasResult(o) {
		return native, "", nil, false
	}
	gate, renamed, ok := format.asGate(o)
	if !ok {
		return native, "", nil, false
	}
	renamed[member] = textform.EncodeJSON(gate)
	return native, gate, renamed, true
}

// object is a JSON object from an agent.
type object map[string]json.RawMessage

// text returns a string member, or "".
func (o object) text(name string) string { return jsonscan.String(o[name]) }

// object returns an object member, or nil.
func (o object) object(name string) object {
	inner, _ := jsonscan.SplitObject(o[name])
	return inner
}

// has reports whether o has that member, of any type.
func (o object) has(name string) bool { return o[name] != nil }

// Members in which agents send a tool's name, its arguments and its result.
var (
	toolNameMembers  = []string{"tool_name", "toolName", "tool", "name"}
	argumentsMembers = []string{"tool_input", "toolInput", "toolArgs", "tool_args", "arguments", "args", "input", "parameters"}
	resultMembers    = []string{"tool_response", "tool_result", "toolResult", "tool_output", "result", "output", "durationMs", "duration_ms", "success"}
)

// hasResult reports whether o, or an object in it, has the result of a call.
func hasResult(o object) bool {
	for name := range o {
		if slices.Contains(resultMembers, name) {
			return true
		}
		if inner := o.object(name); inner != nil && !slices.Contains(argumentsMembers, name) && name != "tool_info" && name != "metadata" {
			if slices.ContainsFunc(resultMembers, inner.has) {
				return true
			}
		}
	}
	return false
}

// findTool returns the tool call of o: its name and arguments, in o itself or in one of its
// objects.
func findTool(o object) (name string, arguments json.RawMessage, ok bool) {
	if name, arguments, ok = o.tool(toolNameMembers[:3]); ok {
		return name, arguments, true
	}
	for _, member := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(argumentsMembers, member) {
			continue
		}
		if name, arguments, ok = o.object(member).tool(toolNameMembers); ok {
			return name, arguments, true
		}
	}
	return "", nil, false
}

// tool returns the tool call in the members of o itself.
func (o object) tool(nameMembers []string) (name string, arguments json.RawMessage, ok bool) {
	for _, member := range nameMembers {
		name = cmp.Or(name, o.text(member))
	}
	for _, member := range argumentsMembers {
		if arguments == nil && o.has(member) {
			arguments = o[member]
		}
	}
	return name, arguments, name != "" && arguments != nil
}

// withMembers returns a copy of o with these members.
func (o object) withMembers(members object) object {
	o = maps.Clone(o)
	maps.Copy(o, members)
	return o
}

// namedTool returns an asGate for agents that send tool_name and tool_input.
func namedTool(event string) func(o object) (string, object, bool) {
	return func(o object) (string, object, bool) {
		name, arguments, ok := findTool(o)
		return event, o.withMembers(object{"tool_name": textform.EncodeJSON(name), "tool_input": arguments}), ok
	}
}

func cursorGate(o object) (string, object, bool) {
	if event, members, ok := namedTool("preToolUse")(o); ok {
		return event, members, ok
	}
	return "beforeShellExecution", maps.Clone(o), o.text("command") != ""
}

func clineGate(o object) (string, object, bool) {
	typed := maps.Clone(o)
	delete(typed, "preToolUse") // it has the arguments as strings
	name, arguments, ok := findTool(typed)
	if !ok {
		name, arguments, ok = findTool(o)
	}
	return "tool_call", o.withMembers(object{"tool_call": textform.EncodeJSON(object{"name": textform.EncodeJSON(name), "input": arguments})}), ok
}

func windsurfGate(o object) (string, object, bool) {
	info := o.object("tool_info")
	for _, action := range []struct{ member, event string }{
		{"command_line", "pre_run_command"}, {"mcp_tool_name", "pre_mcp_tool_use"}, {"edits", "pre_write_code"}, {"file_path", "pre_read_code"},
	} {
		if info.has(action.member) {
			return action.event, maps.Clone(o), true
		}
	}
	return "", nil, false
}

func antigravityGate(o object) (string, object, bool) {
	name, arguments, ok := findTool(o)
	return "PreToolUse", o.withMembers(object{"toolCall": textform.EncodeJSON(object{"name": textform.EncodeJSON(name), "args": arguments})}), ok
}

func opencodeGate(o object) (string, object, bool) {
	p := o.object("properties")
	for _, event := range []struct{ name, patterns, event string }{
		{"permission", "patterns", "permission.asked"}, {"action", "resources", "permission.v2.asked"},
	} {
		if p.text(event.name) != "" && p.has(event.patterns) {
			return event.event, maps.Clone(o), true
		}
	}
	return "", nil, false
}
