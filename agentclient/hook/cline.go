package hook

import (
	"cmp"
	"time"

	"github.com/hookback/hookback/schema"
)

// cline is Cline. Its hooks can only deny, and a denial ends the whole task.
type cline struct{}

var clineEvents = map[string]string{"TaskStart": "SessionStart", "TaskResume": "SessionStart", "TaskCancel": "SessionEnd", "TaskComplete": "Stop"}

var clineTools = map[string]string{
	"execute_command": toolBash, "read_file": toolRead, "write_to_file": toolWrite, "new_file": toolWrite, "replace_in_file": toolEdit, "apply_patch": toolEdit,
	"web_fetch": toolWebFetch, "web_search": toolWebSearch, "use_subagents": toolTask,
}

// Parse implements Agent.
func (cline) Parse(in Input) (Call, error) {
	o, c, err := in.newCall("cline", 30*time.Second)
	if err != nil {
		return Call{}, err
	}
	native := cmp.Or(o.nameText("hookName"), in.Event)
	if err := c.setOrigin(cmp.Or(clineEvents[native], native), o.text("taskId"), o.firstString("workspaceRoots"), in.Dir); err != nil {
		return Call{}, err
	}
	c.Event.ModelName, c.Event.Timestamp = o.object("model").nameText("slug"), o.timestamp("timestamp")
	if native == "TaskResume" {
		c.Event.Source = "resume"
	}
	// The event's details are in a member named after the event.
	details := o.object(lowerFirst(native))
	c.Event.Summary = oneLine(cmp.Or(details.text("prompt"), details.object("taskMetadata").text("initialTask"), eventText(details)), maxSummary)
	if native != "PreToolUse" && native != "PostToolUse" {
		return c, nil
	}
	name := cmp.Or(details.nameText("toolName"), details.nameText("tool"), unknownTool)
	c.setTool(name, clineTools, details["parameters"])
	if name == "use_mcp_tool" {
		c.setMCPTool(c.args.text("server_name"), c.args.text("tool_name"))
	}
	if native == "PostToolUse" {
		if ok := details.boolean("success"); ok != nil && !*ok {
			c.Event.HookEventType, c.Event.Error = "PostToolUseFailure", clip(details.text("result"), schema.MaxReason)
		}
		return c, nil
	}
	c.setGate(CanDeny, "", o.firstString("workspaceRoots"))
	return c, nil
}

// Render implements Agent.
func (cline) Render(c *Call, v Verdict) Reply {
	if v = c.adaptVerdict(v); v.Effect != Deny {
		return Reply{}
	}
	return encodeReply(struct {
		Cancel  bool   `json:"cancel"`
		Message string `json:"errorMessage"`
	}{true, v.Reason})
}
