package hook

import (
	"cmp"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// qwen is Qwen Code. It resembles Claude Code, with undocumented differences (observed
// in 0.24.4): PreToolUse runs after the user was asked, so it has nothing left to skip,
// and ignores edited arguments. PermissionRequest runs before the dialog opens, not
// while it is open, and remembers nothing. PermissionDenied takes no answer, but Qwen Code
// asks its user when the model repeats exactly the call that its auto mode refused.
type qwen struct{}

// Parse implements Agent.
func (qwen) Parse(in Input) (Call, error) {
	o, c, err := in.newCall("qwen", time.Minute)
	if err != nil {
		return Call{}, err
	}
	c.Headless = in.isHeadless()
	err = c.setOrigin(cmp.Or(o.nameText("hook_event_name"), in.Event), o.text("session_id"), in.env("QWEN_PROJECT_DIR"), o.text("cwd"), in.Dir)
	if err != nil {
		return Call{}, err
	}
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
		return c, nil
	}
	c.Ask = c.permissionQuestion(c.args.text("description"), o.text("cwd"))
	if c.Point == Appeal {
		c.Ask.Appeal = &schema.Appeal{By: "Qwen Code auto mode", Reason: clip(o.text("reason"), schema.MaxReason)}
	}
	return c, nil
}

// Render implements Agent.
func (qwen) Render(c *Call, v Verdict) Reply {
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
