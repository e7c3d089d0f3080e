package hook

import (
	"cmp"
	"time"
)

// droid is Factory's Droid: Claude Code's PreToolUse without PermissionRequest.
type droid struct{}

const droidTools ownTools = "Execute Create Edit MultiEdit ApplyPatch FetchUrl WebSearch Task"

// Parse implements Agent.
func (droid) Parse(in Input) (Call, error) {
	o, c, err := in.newCall("droid", time.Minute)
	if err != nil {
		return Call{}, err
	}
	err = c.setOrigin(cmp.Or(o.nameText("hook_event_name"), in.Event), o.text("session_id"), in.env("FACTORY_PROJECT_DIR"), o.text("cwd"), in.Dir)
	if err != nil {
		return Call{}, err
	}
	c.setDetails(o)
	if c.setGatedTool(o.nameText("tool_name"), droidTools, o["tool_input"]) {
		// Without its terminal, Droid 0.215 runs a call that a hook answers with "ask".
		c.setGate(CanAllow|CanDeny|CanEdit, c.args.text("description"), o.text("cwd"))
	}
	return c, nil
}

// Render implements Agent.
func (droid) Render(c *Call, v Verdict) Reply {
	// Its documentation doesn't state whether an edit is merged into the arguments.
	v = c.checkMergeSafe(c.adaptVerdict(v))
	if v.Effect == Pass {
		return Reply{}
	}
	return preToolUseReply(v)
}
