package hook

import "cmp"

const droidTools nameList = "Execute Create Edit MultiEdit ApplyPatch FetchUrl WebSearch Task"

// parseDroid reads the input of Factory's Droid: Claude Code's PreToolUse without PermissionRequest.
func parseDroid(in Input, o object, c *Call) {
	c.setOrigin(cmp.Or(o.nameText("hook_event_name"), in.Event), o.text("session_id"), in.env("FACTORY_PROJECT_DIR"), o.text("cwd"), in.Dir)
	c.setDetails(o)
	if c.setGatedTool(o.nameText("tool_name"), droidTools, o["tool_input"]) {
		// Without its terminal, Droid 0.215 runs a call that a hook answers with "ask".
		c.setGate(CanAllow|CanDeny|CanEdit, c.args.text("description"), o.text("cwd"))
	}
}

func renderDroid(c *Call, v Verdict) Reply {
	// Its documentation doesn't state whether an edit is merged into the arguments.
	v = c.checkMergeSafe(c.adaptVerdict(v))
	if v.Effect == Pass {
		return Reply{}
	}
	return preToolUseReply(v)
}
