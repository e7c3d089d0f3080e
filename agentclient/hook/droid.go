package hook

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/hookback/hookback/schema"
)

// droid is Factory's Droid: Claude Code's PreToolUse, no PermissionRequest.
type droid struct{}

var droidTools = map[string]string{
	"Execute": bash, "Create": write, "Edit": edit, "MultiEdit": edit, "ApplyPatch": edit, "FetchUrl": webFetch, "WebSearch": webSearch, "Task": task,
}

// Parse implements Agent.
func (droid) Parse(in Input) (Call, error) {
	o, payload, err := in.object()
	if err != nil {
		return Call{}, err
	}
	c := Call{Event: schema.Event{Agent: "droid", Payload: payload}, Limit: time.Minute}
	err = c.begin(cmp.Or(o.name("hook_event_name"), in.Event), o.text("session_id"), in.env("FACTORY_PROJECT_DIR"), o.text("cwd"), in.Dir)
	if err != nil {
		return Call{}, err
	}
	c.tell(o)
	name, gate := o.name("tool_name"), c.Event.HookEventType == "PreToolUse"
	if name != "" || gate {
		c.use(cmp.Or(name, unnamed), droidTools, o["tool_input"])
	}
	if gate {
		c.Point, c.Capabilities, c.Fallback = Gate, CanAllow|CanDeny|CanAsk|CanEdit, Ask
		c.Ask = c.permission(c.args.text("description"), o.text("cwd"))
	}
	return c, nil
}

// Render implements Agent.
func (droid) Render(c *Call, v Verdict) Reply {
	// Its documents don't say whether an edit is merged into the arguments.
	v = c.mergeable(c.express(v))
	if v.Effect == Pass {
		return Reply{}
	}
	type output struct {
		Event    string          `json:"hookEventName"`
		Decision Effect          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason,omitempty"`
		Input    json.RawMessage `json:"updatedInput,omitempty"`
	}
	return say(map[string]output{"hookSpecificOutput": {"PreToolUse", v.Effect, v.Reason, v.Arguments}})
}
