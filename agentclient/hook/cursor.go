package hook

import (
	"cmp"
	"path"
	"path/filepath"

	"github.com/hookback/hookback/schema"
)

var cursorEvents = map[string]string{
	"beforeShellExecution": "PreToolUse", "beforeMCPExecution": "PreToolUse", "beforeReadFile": "PreToolUse", "beforeTabFileRead": "PreToolUse",
	"afterShellExecution": "PostToolUse", "afterMCPExecution": "PostToolUse", "afterFileEdit": "PostToolUse", "afterTabFileEdit": "PostToolUse",
	"beforeSubmitPrompt": "UserPromptSubmit",
}

const cursorTools nameList = "Shell Read Write Edit StrReplace ApplyPatch EditNotebook WebFetch WebSearch Task Subagent"

// parseCursor reads the input of Cursor, editor and CLI. It has separate hooks for shell commands, MCP tools
// and file reads, and a generic one for every tool, which doesn't enforce "ask". An
// answer of a permission hook that isn't JSON blocks the call.
func parseCursor(in Input, o object, c *Call) {
	native := cmp.Or(o.nameText("hook_event_name"), in.Event)
	project, dir := c.setRoots(o.array("workspace_roots"), decodeMembers(unwrapJSONString(o["tool_input"])), o), in.Dir
	if path.Base(filepath.ToSlash(dir)) == ".cursor" { // where it runs the hooks of the user
		dir = ""
	}
	c.setOrigin(cmp.Or(cursorEvents[native], upperFirst(native)), cmp.Or(o.text("conversation_id"), o.text("session_id")),
		project, in.env("CURSOR_PROJECT_DIR"), o.text("cwd"), dir)
	c.setDetails(o)
	c.Event.ModelName = cmp.Or(o.nameText("model_id"), o.nameText("model"))
	if can := c.setCursorTool(native, o); can != 0 {
		c.setGate(can, cmp.Or(o.text("agent_message"), c.args.text("description")), cmp.Or(o.text("cwd"), project))
	}
}

// setCursorTool sets the tool of an event that has one, and returns the capabilities.
func (c *Call) setCursorTool(native string, o object) Capability {
	switch native {
	case "preToolUse":
		c.setTool(cmp.Or(o.nameText("tool_name"), unknownTool), cursorTools, unwrapJSONString(o["tool_input"]))
		return CanAllow | CanDeny | CanEdit
	case "postToolUse", "postToolUseFailure":
		c.setTool(cmp.Or(o.nameText("tool_name"), unknownTool), cursorTools, unwrapJSONString(o["tool_input"]))
		c.Event.Error = clip(cmp.Or(o.text("error_message"), o.text("error")), schema.MaxReason)
	case "beforeShellExecution", "afterShellExecution":
		c.setTool("Shell", cursorTools, pickMembers(o, "command", "cwd"))
		if native == "beforeShellExecution" {
			return CanAllow | CanDeny | CanAsk
		}
	case "beforeMCPExecution", "afterMCPExecution":
		name := cmp.Or(o.nameText("tool_name"), unknownTool)
		c.setTool("MCP:"+name, "", unwrapJSONString(o["tool_input"]))
		c.setMCPTool(o.text("mcp_server_name"), name)
		if native == "beforeMCPExecution" {
			return CanAllow | CanDeny | CanAsk
		}
	case "beforeReadFile", "beforeTabFileRead":
		c.setTool("Read", "", pickMembers(o, "file_path"))
		return CanAllow | CanDeny
	case "afterFileEdit", "afterTabFileEdit":
		c.setTool("Edit", "", pickMembers(o, "file_path", "edits"))
	case "subagentStart": // already gated as a call of the tool Task
		c.setTool("Task", "", pickMembers(o, "subagent_type", "task", "description", "prompt"))
	}
	return 0
}

func renderCursor(c *Call, v Verdict) Reply {
	// Its documentation doesn't state whether an edit is merged into the arguments.
	v = c.checkMergeSafe(c.adaptVerdict(v))
	if v.Effect == Pass {
		return Reply{}
	}
	if v.Effect == Allow {
		v.Reason = ""
	}
	return encodeReply("permission", v.Effect, "user_message", v.Reason, "agent_message", v.Reason, "updated_input", v.Arguments)
}
