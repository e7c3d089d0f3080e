package hook

import (
	"cmp"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// parseQwen reads the input of Qwen Code. It resembles Claude Code, with undocumented differences (observed
// in 0.24.4): PreToolUse runs after the user was asked, so it has nothing left to skip,
// and ignores edited arguments. PermissionRequest runs before the dialog opens, not
// while it is open, and remembers nothing. PermissionDenied takes no answer, but Qwen Code
// asks its user when the model repeats exactly the call that its auto mode refused.
func parseQwen(in Input, o object, c *Call) {
	c.Headless = in.isHeadless()
	c.setOrigin(cmp.Or(o.nameText("hook_event_name"), in.Event), o.text("session_id"), in.env("QWEN_PROJECT_DIR"), o.text("cwd"), in.Dir)
	c.setDetails(o)
	if prompt := o.text("submitted_prompt"); prompt != "" {
		c.Event.Summary = oneLine(prompt, maxSummary)
	}
	name := o.nameText("tool_name")
	switch c.Event.HookEventType {
	case "PreToolUse":
		c.setTool(cmp.Or(name, unknownTool), geminiTools, o["tool_input"])
		c.Point, c.Capabilities, c.Fallback = Gate, CanDeny|CanAsk, Ask
	case "PermissionRequest":
		c.setTool(cmp.Or(name, unknownTool), geminiTools, o["tool_input"])
		c.Point, c.Capabilities = Prompt, CanAllow|CanDeny|CanEdit|CanGrant
	case "PermissionDenied":
		c.setTool(cmp.Or(name, unknownTool), geminiTools, o["tool_input"])
		c.Point, c.Capabilities = Appeal, CanAllow
	default:
		if name != "" {
			c.setTool(name, geminiTools, o["tool_input"])
			c.Capabilities = CanMessage
		}
		return
	}
	c.Ask = c.permissionQuestion(c.args.text("description"), o.text("cwd"))
	if c.Point == Appeal {
		c.Ask.Appeal = &schema.Appeal{By: "Qwen Code auto mode", Reason: clip(o.text("reason"), schema.MaxReason)}
	}
}

func renderQwen(c *Call, v Verdict) Reply {
	if c.Point == Observe {
		return messageReply(c.Event.HookEventType, control.PromptText(v.Messages))
	}
	switch v = c.adaptVerdict(v); {
	case v.Effect == Pass || c.Point == Appeal: // a grant reaches the call at its next prompt
		return Reply{}
	case c.Point == Prompt:
		return permissionRequestReply(v, nil)
	default:
		return preToolUseReply(v)
	}
}
