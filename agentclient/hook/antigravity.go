package hook

import (
	"cmp"

	"github.com/hookback/hookback/schema"
)

const antigravityTools nameList = "run_command view_file write_to_file replace_file_content multi_replace_file_content " +
	"search_web read_url_content invoke_subagent"

// parseAntigravity reads the input of Google's Antigravity: editor, CLI and app. It rejects an answer that
// has any unknown member. Its input doesn't name the event, so the event comes from the
// command line or is inferred from the members.
func parseAntigravity(in Input, o object, c *Call) {
	tool := o.object("toolCall")
	arguments := tool.object("args")
	native := cmp.Or(in.Event, o.nameText("hookEventName"), o.nameText("hook_event_name"), inferAntigravityEvent(o))
	event := native
	if native == "PreInvocation" && string(o["invocationNum"]) == "0" {
		event = "SessionStart"
	}
	project := c.setRoots(o.array("workspacePaths"), arguments)
	cwd := cmp.Or(arguments.text("Cwd"), project)
	c.setOrigin(event, o.text("conversationId"), project, cwd, in.Dir)
	c.Event.ModelName = o.nameText("modelName")
	c.Event.Error = clip(o.text("error"), schema.MaxReason)
	c.Event.Reason = o.nameText("terminationReason")
	c.Event.Summary = oneLine(cmp.Or(c.Event.Error, c.Event.Reason), maxSummary)
	if c.setGatedTool(tool.nameText("name"), antigravityTools, tool["args"]) {
		c.setGate(CanAllow|CanDeny|CanAsk, "", cwd)
	}
}

func inferAntigravityEvent(o object) string {
	switch {
	case o.has("terminationReason") || o.has("executionNum"):
		return "Stop"
	case o.has("invocationNum"):
		return "PreInvocation"
	case o.object("toolCall") != nil && !o.has("error"):
		return "PreToolUse"
	case o.has("stepIdx"):
		return "PostToolUse"
	default:
		return ""
	}
}

func renderAntigravity(c *Call, v Verdict) Reply {
	v = c.adaptVerdict(v)
	decision := v.Effect
	switch decision {
	case Pass:
		return Reply{}
	case Ask:
		decision = "force_ask" // "ask" would be skipped if the user has allowed the tool before
	}
	return encodeReply("decision", decision, "reason", v.Reason)
}
