package hook

import (
	"cmp"
	"time"

	"github.com/hookback/hookback/schema"
)

// cline is Cline. Its hooks can only say no, which ends the whole task.
type cline struct{}

var clineEvents = map[string]string{"TaskStart": "SessionStart", "TaskResume": "SessionStart", "TaskCancel": "SessionEnd", "TaskComplete": "Stop"}

var clineTools = map[string]string{
	"execute_command": bash, "read_file": read, "write_to_file": write, "new_file": write, "replace_in_file": edit, "apply_patch": edit,
	"web_fetch": webFetch, "web_search": webSearch, "use_subagents": task,
}

// Parse implements Agent.
func (cline) Parse(in Input) (Call, error) {
	o, payload, err := in.object()
	if err != nil {
		return Call{}, err
	}
	c := Call{Event: schema.Event{Agent: "cline", Payload: payload}, Limit: 30 * time.Second}
	native := cmp.Or(o.name("hookName"), in.Event)
	if err := c.begin(cmp.Or(clineEvents[native], native), o.text("taskId"), o.first("workspaceRoots"), in.Dir); err != nil {
		return Call{}, err
	}
	c.Event.ModelName, c.Event.Timestamp = o.object("model").name("slug"), o.millis("timestamp")
	if native == "TaskResume" {
		c.Event.Source = "resume"
	}
	// What an event is about stands in a member that is called like it.
	about := o.object(lowerFirst(native))
	c.Event.Summary = oneLine(cmp.Or(about.text("prompt"), about.object("taskMetadata").text("initialTask"), said(about)), maxSummary)
	if native != "PreToolUse" && native != "PostToolUse" {
		return c, nil
	}
	name := cmp.Or(about.name("toolName"), about.name("tool"), unnamed)
	c.use(name, clineTools, about["parameters"])
	if name == "use_mcp_tool" {
		c.mcp(c.args.text("server_name"), c.args.text("tool_name"))
	}
	if native == "PostToolUse" {
		if ok := about.flag("success"); ok != nil && !*ok {
			c.Event.HookEventType, c.Event.Error = "PostToolUseFailure", clip(about.text("result"), schema.MaxReason)
		}
		return c, nil
	}
	c.Point, c.Capabilities = Gate, CanDeny
	c.Ask = c.permission("", o.first("workspaceRoots"))
	return c, nil
}

// Render implements Agent.
func (cline) Render(c *Call, v Verdict) Reply {
	if v = c.express(v); v.Effect != Deny {
		return Reply{}
	}
	return say(struct {
		Cancel  bool   `json:"cancel"`
		Message string `json:"errorMessage"`
	}{true, v.Reason})
}
