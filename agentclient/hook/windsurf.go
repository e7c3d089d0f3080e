package hook

import (
	"cmp"
	"strings"
)

// windsurfTools are the names of actions without pre_ and post_.
const windsurfTools nameList = "run_command read_code write_code mcp_tool_use"

// parseWindsurf reads the input of Windsurf's Cascade. It can only be denied, by exit status 2 before an
// action with the reason on stderr.
func parseWindsurf(in Input, o object, c *Call) {
	native, info := cmp.Or(o.nameText("agent_action_name"), in.Event), o.object("tool_info")
	pre := strings.HasPrefix(native, "pre_")
	action := strings.TrimPrefix(strings.TrimPrefix(native, "pre_"), "post_")
	known := windsurfTools.has(action)
	event := native
	switch {
	case native == "pre_user_prompt":
		event = "UserPromptSubmit"
	case native == "post_cascade_response":
		event = "Stop"
	case known && pre:
		event = "PreToolUse"
	case known:
		event = "PostToolUse"
	}
	cwd := cmp.Or(info.text("cwd"), in.Dir)
	c.setOrigin(event, o.text("trajectory_id"), in.env("ROOT_WORKSPACE_PATH"), cwd)
	c.Event.ModelName, c.Event.Timestamp = o.nameText("model_name"), o.timestamp("timestamp")
	c.Event.Summary = oneLine(cmp.Or(info.text("user_prompt"), info.text("response")), maxSummary)
	if !known {
		return
	}
	c.setTool(action, windsurfTools, o["tool_info"])
	c.setMCPTool(info.text("mcp_server_name"), info.text("mcp_tool_name"))
	if pre {
		c.setGate(CanDeny, "", cwd)
	}
}

// renderExitStatus renders a denial for agents that only check the exit status.
func renderExitStatus(c *Call, v Verdict) Reply {
	if v = c.adaptVerdict(v); v.Effect != Deny {
		return Reply{}
	}
	return Reply{Stderr: []byte(v.Reason + "\n"), Exit: 2}
}
