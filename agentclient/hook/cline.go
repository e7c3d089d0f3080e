package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

var clineEvents = map[string]string{
	// CLI 3
	"tool_call": "PreToolUse", "tool_result": "PostToolUse", "prompt_submit": "UserPromptSubmit", "pre_compact": "PreCompact",
	"agent_start": "SessionStart", "agent_resume": "SessionStart", "agent_end": "Stop", "agent_abort": "Stop", "agent_error": "StopFailure",
	"session_shutdown": "SessionEnd",
	// the extension
	"TaskStart": "SessionStart", "TaskResume": "SessionStart", "TaskCancel": "SessionEnd", "TaskComplete": "Stop",
}

const clineTools nameList = "run_commands read_files editor apply_patch fetch_web_content spawn_agent " + // CLI 3
	"execute_command read_file write_to_file new_file replace_in_file web_fetch web_search use_subagents" // the extension

// parseCline reads the input of Cline: the CLI since version 3 and the editor extension before it, which differ
// in the names of events and tools. A denial ends the whole task. A hook that fails or takes
// too long lets the call run.
func parseCline(in Input, o object, c *Call) {
	native := cmp.Or(o.nameText("hookName"), in.Event)
	details := o.clineDetails(native)
	project := c.setRoots(o.array("workspaceRoots"), details.object("parameters"), o.object("tool_call").object("input"))
	c.setOrigin(cmp.Or(clineEvents[native], native), o.text("taskId"), project, in.Dir)
	c.Event.ModelName, c.Event.Timestamp = o.object("model").nameText("slug"), o.timestamp("timestamp")
	if o.text("parent_agent_id") != "" {
		c.Event.AgentID = o.nameText("agent_id")
	}
	if native == "TaskResume" || native == "agent_resume" {
		c.Event.Source = "resume"
	}
	if isCLI := strings.Contains(native, "_"); isCLI {
		c.Limit = 2 * time.Minute
	}
	c.Event.Reason = clip(o.text("reason"), schema.MaxReason)
	c.Event.Error = clip(o.object("error").text("message"), schema.MaxReason)
	c.Event.Summary = oneLine(cmp.Or(c.Event.Error, details.text("prompt"), details.object("taskMetadata").text("initialTask"),
		o.object("turn").text("outputText"), eventText(details), c.Event.Reason), maxSummary)
	switch c.Event.HookEventType {
	case "PreToolUse":
		c.setClineTool(o, details)
		can := CanDeny
		if native == "tool_call" {
			can |= CanEdit
		}
		c.setGate(can, "", project)
	case "PostToolUse":
		c.setClineTool(o, details)
		if ok := details.boolean("success"); ok != nil && !*ok {
			c.Event.HookEventType, c.Event.Error = "PostToolUseFailure", clip(details.text("result"), schema.MaxReason)
		}
	}
}

// clineDetails returns the details of an event. They are in a member named after the event
// of the extension.
func (o object) clineDetails(native string) object {
	name := lowerFirst(native)
	switch native {
	case "tool_call":
		name = "preToolUse"
	case "tool_result":
		name = "postToolUse"
	case "prompt_submit":
		name = "userPromptSubmit"
	}
	return o.object(name)
}

// setClineTool sets the tool call. CLI 3 sends it twice: with typed arguments, and in
// details with arguments as strings.
func (c *Call) setClineTool(o, details object) {
	name := cmp.Or(details.nameText("toolName"), details.nameText("tool"))
	arguments := details["parameters"]
	for _, member := range []string{"tool_call", "tool_result"} {
		if typed := o.object(member); typed != nil {
			c.Event.ToolUseID = typed.nameText("id")
			name, arguments = cmp.Or(typed.nameText("name"), name), typed["input"]
		}
	}
	if name == "run_commands" && bytes.HasPrefix(arguments, []byte("[")) { // Cline reads both the same way
		arguments = encodeJSON(map[string]json.RawMessage{"commands": arguments})
	}
	c.setTool(cmp.Or(name, unknownTool), clineTools, arguments)
	switch server, tool, isMCP := strings.Cut(name, "__"); {
	case name == "run_commands":
		c.Command = clineCommand(c.args)
		c.Event.Summary = c.summaryLine()
	case name == "use_mcp_tool":
		c.setMCPTool(c.args.text("server_name"), c.args.text("tool_name"))
	case isMCP && clineTools.commonName(name) == "":
		c.setMCPTool(server, tool)
	}
}

// clineCommand returns the commands of run_commands, one per line, in every form that Cline
// runs: one command or a list, each a text or a program with arguments.
func clineCommand(args object) string {
	var lines []string
	add := func(raw json.RawMessage) {
		if line := stringValue(raw); line != "" {
			lines = append(lines, line)
		}
		if o := decodeMembers(raw); o.text("command") != "" {
			words := []string{o.text("command")}
			for _, operand := range o.array("args") {
				words = append(words, quoteWord(stringValue(operand)))
			}
			lines = append(lines, strings.Join(words, " "))
		}
	}
	add(args["commands"])
	for _, one := range args.array("commands") {
		add(one)
	}
	add(encodeJSON(args))
	add(args["cmd"])
	return strings.Join(lines, "\n")
}

func renderCline(c *Call, v Verdict) Reply {
	switch v = c.adaptVerdict(v); {
	case v.Effect == Deny:
		return encodeReply("cancel", true, "errorMessage", v.Reason)
	case v.Effect == Allow && v.Arguments != nil:
		return encodeReply("overrideInput", v.Arguments)
	default:
		return Reply{}
	}
}
