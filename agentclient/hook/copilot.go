package hook

import (
	"cmp"
	"encoding/json"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

var copilotEvents = map[string]string{
	"userPromptSubmitted": "UserPromptSubmit", "agentStop": "Stop", "errorOccurred": "StopFailure", "ErrorOccurred": "StopFailure",
}

const copilotTools nameList = "bash powershell view create edit str_replace_editor apply_patch web_fetch web_search task Agent " +
	"runInTerminal run_in_terminal readFile read_file createFile create_file editFiles replace_string_in_file " + // VS Code
	"insert_edit_into_file fetch_webpage runSubagent"

// parseCopilot reads the input of GitHub Copilot: the CLI, the cloud agent, and VS Code, which runs the same
// hook files but expects a different answer. An event registered as preToolUse has
// members like toolArgs and lacks its name; one registered as PreToolUse has Claude
// Code's format.
func parseCopilot(in Input, o object, c *Call) {
	// The cloud agent has its prompt in the environment and no user to ask.
	cloud := in.env("COPILOT_AGENT_PROMPT") != ""
	c.Headless = cloud || in.isHeadless()
	native := cmp.Or(o.nameText("hook_event_name"), o.nameText("hookEventName"), o.nameText("hookName"), in.Event, inferCopilotEvent(o))
	c.setOrigin(cmp.Or(copilotEvents[native], upperFirst(native)), cmp.Or(o.text("sessionId"), o.text("session_id")), o.text("cwd"), in.Dir)
	c.setDetails(o)
	c.setCopilotDetails(o)
	arguments := o["tool_input"]
	for _, name := range []string{"toolArgs", "toolInput"} {
		if o.has(name) {
			arguments = o[name]
		}
	}
	name := cmp.Or(o.nameText("toolName"), o.nameText("tool_name"))
	if name == "" {
		name, arguments = copilotCalls(o, arguments)
	}
	decides := c.Event.HookEventType == "PreToolUse" || c.Event.HookEventType == "PermissionRequest"
	if name != "" || decides {
		c.setTool(cmp.Or(name, unknownTool), copilotTools, unwrapJSONString(arguments))
	}
	if decides {
		c.setCopilotGate(o)
	}
}

// copilotCalls returns the tool and the arguments of an event in the form of VS Code's agent host, which
// lists calls in one member. Several calls become one of all their arguments.
func copilotCalls(o object, arguments json.RawMessage) (string, json.RawMessage) {
	switch calls := o.array("toolCalls"); len(calls) {
	case 0:
		return "", arguments
	case 1:
		only := decodeMembers(calls[0])
		if only.has("args") {
			return only.nameText("name"), only["args"]
		}
		return only.nameText("name"), only["arguments"]
	default:
		return call.SeveralTools, pickMembers(o, "toolCalls")
	}
}

// setCopilotGate sets the capabilities before a call. PermissionRequest is a gate too:
// it runs before Copilot's own rules, even for calls that need no permission.
func (c *Call) setCopilotGate(o object) {
	can := CanAllow | CanDeny
	if c.Event.HookEventType == "PreToolUse" {
		can |= CanEdit
		if !c.Headless {
			can |= CanAsk
		}
	}
	c.adapterState = o.has("hookEventName") || o.has("tool_use_id") // VS Code
	c.setGate(can, c.args.text("description"), o.text("cwd"))
}

// setCopilotDetails is setDetails for members in camelCase.
func (c *Call) setCopilotDetails(o object) {
	e := &c.Event
	e.AgentID = cmp.Or(e.AgentID, o.nameText("agentId"))
	e.AgentType = cmp.Or(e.AgentType, o.nameText("agentType"), o.nameText("agentName"), o.nameText("agent_name"))
	e.CustomInstructions = cmp.Or(e.CustomInstructions, clip(o.text("customInstructions"), schema.MaxReason))
	e.Error = cmp.Or(e.Error, clip(o.object("error").text("message"), schema.MaxReason))
	e.Summary = cmp.Or(e.Summary, oneLine(cmp.Or(o.text("response"), e.Error, e.AgentType), maxSummary))
}

// inferCopilotEvent infers the name of an event that lacks it from its members.
func inferCopilotEvent(o object) string {
	for _, e := range []struct{ member, event string }{
		{"notification_type", "notification"}, {"toolResult", "postToolUse"}, {"errorContext", "errorOccurred"},
		{"transformedPrompt", "userPromptTransformed"}, {"response", "subagentStop"}, {"agentName", "subagentStart"},
		{"stopReason", "agentStop"}, {"trigger", "preCompact"}, {"initialPrompt", "sessionStart"}, {"source", "sessionStart"},
		{"prompt", "userPromptSubmitted"}, {"reason", "sessionEnd"},
	} {
		if o.has(e.member) {
			return e.event
		}
	}
	switch {
	case o.has("toolCalls"):
		return "preToolUse"
	case !o.has("toolName"):
		return ""
	case o.has("error"):
		return "postToolUseFailure"
	case o.has("toolInput"):
		return "permissionRequest"
	default:
		return "preToolUse"
	}
}

func renderCopilot(c *Call, v Verdict) Reply {
	if v.Effect == Ask && c.Event.HookEventType == "PermissionRequest" {
		return Reply{} // its own rules and prompt come next
	}
	v = c.adaptVerdict(v)
	vscode, _ := c.adapterState.(bool)
	if vscode {
		v = c.checkMergeSafe(v) // only the CLI is known to replace the arguments
	}
	switch {
	case v.Effect == Pass:
		return Reply{}
	case c.Event.HookEventType == "PermissionRequest":
		return encodeReply("behavior", v.Effect, "message", v.denialReason())
	case vscode:
		return preToolUseReply(v)
	default:
		return encodeReply("permissionDecision", v.Effect, "permissionDecisionReason", v.Reason, "modifiedArgs", v.Arguments)
	}
}
