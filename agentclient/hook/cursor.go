package hook

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/hookback/hookback/schema"
)

// cursor is Cursor, the editor and the CLI. It has a hook of its own for shell
// commands, MCP tools and reading files, and one for any tool, where "ask" is not
// enforced. A permission hook's answer that is no JSON blocks.
type cursor struct{}

var cursorEvents = map[string]string{
	"beforeShellExecution": "PreToolUse", "beforeMCPExecution": "PreToolUse", "beforeReadFile": "PreToolUse", "beforeTabFileRead": "PreToolUse",
	"afterShellExecution": "PostToolUse", "afterMCPExecution": "PostToolUse", "afterFileEdit": "PostToolUse", "afterTabFileEdit": "PostToolUse",
	"beforeSubmitPrompt": "UserPromptSubmit",
}

var cursorTools = map[string]string{
	"Shell": bash, "Read": read, "Write": write, "Edit": edit, "StrReplace": edit, "ApplyPatch": edit, "EditNotebook": edit,
	"WebFetch": webFetch, "WebSearch": webSearch, "Task": task, "Subagent": task,
}

// Parse implements Agent.
func (cursor) Parse(in Input) (Call, error) {
	o, payload, err := in.object()
	if err != nil {
		return Call{}, err
	}
	c := Call{Event: schema.Event{Agent: "cursor", Payload: payload}, Limit: time.Minute}
	native := cmp.Or(o.name("hook_event_name"), in.Event)
	err = c.begin(cmp.Or(cursorEvents[native], pascal(native)), cmp.Or(o.text("conversation_id"), o.text("session_id")),
		o.first("workspace_roots"), in.env("CURSOR_PROJECT_DIR"), o.text("cwd"), in.Dir)
	if err != nil {
		return Call{}, err
	}
	c.tell(o)
	c.Event.ModelName = cmp.Or(o.name("model_id"), o.name("model"))
	can := c.cursorTool(native, o)
	if can != 0 {
		c.Point, c.Capabilities = Gate, can
		if can.Has(CanAsk) {
			c.Fallback = Ask
		}
		c.Ask = c.permission(cmp.Or(o.text("agent_message"), c.args.text("description")), cmp.Or(o.text("cwd"), o.first("workspace_roots")))
	}
	return c, nil
}

// cursorTool notes the tool of an event that has one, and which answers it takes.
func (c *Call) cursorTool(native string, o object) Capability {
	switch native {
	case "preToolUse":
		c.use(cmp.Or(o.name("tool_name"), unnamed), cursorTools, written(o["tool_input"]))
		return CanAllow | CanDeny | CanEdit
	case "postToolUse", "postToolUseFailure":
		c.use(cmp.Or(o.name("tool_name"), unnamed), cursorTools, written(o["tool_input"]))
		c.Event.Error = clip(cmp.Or(o.text("error_message"), o.text("error")), schema.MaxReason)
	case "beforeShellExecution", "afterShellExecution":
		c.use("Shell", cursorTools, only(o, "command", "cwd"))
		if native == "beforeShellExecution" {
			return CanAllow | CanDeny | CanAsk
		}
	case "beforeMCPExecution", "afterMCPExecution":
		name := cmp.Or(o.name("tool_name"), unnamed)
		c.use("MCP:"+name, nil, written(o["tool_input"]))
		c.mcp(o.text("mcp_server_name"), name)
		if native == "beforeMCPExecution" {
			return CanAllow | CanDeny | CanAsk
		}
	case "beforeReadFile", "beforeTabFileRead":
		c.use("Read", nil, only(o, "file_path"))
		return CanAllow | CanDeny
	case "afterFileEdit", "afterTabFileEdit":
		c.use("Edit", nil, only(o, "file_path", "edits"))
	case "subagentStart": // it was gated as the tool Task, before
		c.use("Task", nil, only(o, "subagent_type", "task", "description", "prompt"))
	}
	return 0
}

// Render implements Agent.
func (cursor) Render(c *Call, v Verdict) Reply {
	// Its documents don't say whether an edit is merged into the arguments.
	v = c.mergeable(c.express(v))
	if v.Effect == Pass {
		return Reply{}
	}
	type answer struct {
		Permission   Effect          `json:"permission"`
		UserMessage  string          `json:"user_message,omitempty"`
		AgentMessage string          `json:"agent_message,omitempty"`
		UpdatedInput json.RawMessage `json:"updated_input,omitempty"`
	}
	a := answer{Permission: v.Effect, UpdatedInput: v.Arguments}
	if v.Effect != Allow {
		a = answer{Permission: v.Effect, UserMessage: v.Reason, AgentMessage: v.Reason}
	}
	return say(a)
}
