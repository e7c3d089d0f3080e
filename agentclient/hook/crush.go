package hook

import (
	"cmp"
	"encoding/json"
	"regexp"
	"sync"
)

const crushTools nameList = "bash view write edit multiedit fetch agentic_fetch web_fetch web_search agent"

// parseCrush reads the input of Charm's Crush. No output leads to its own permissions, and it has no "ask".
// Those permissions approve everything in crush run and with --yolo, which its hooks
// can't see, so no output is a question only on a terminal that is certainly
// interactive. It merges an edit into the arguments and treats member names as paths.
func parseCrush(in Input, o object, c *Call) {
	c.Headless = in.isHeadless()
	event := cmp.Or(o.nameText("event"), o.nameText("hook_event_name"), in.Event)
	c.setOrigin(event, o.text("session_id"), in.env("CRUSH_PROJECT_DIR"), o.text("cwd"), in.Dir)
	c.setDetails(o)
	if c.setGatedTool(o.nameText("tool_name"), crushTools, unwrapJSONString(o["tool_input"])) {
		c.setGate(CanAllow|CanDeny|CanEdit, c.args.text("description"), o.text("cwd"))
		c.adapterState = in.isInteractive("run", "r", "-y", "--yolo")
	}
}

func renderCrush(c *Call, v Verdict) Reply {
	if attended, _ := c.adapterState.(bool); v.Effect == Ask && attended {
		return Reply{} // its own prompt opens
	}
	if v.Effect == Ask && !c.Headless {
		v.Reason += interactiveHint
	}
	v = c.checkMergeSafe(c.adaptVerdict(v))
	if v.Effect == Allow && v.Arguments != nil && !hasPlainNames(v.Arguments) {
		v = c.denyEdit(v.Arguments)
	}
	if v.Effect == Pass {
		return Reply{}
	}
	return encodeReply("decision", v.Effect, "reason", v.denialReason(), "updated_input", v.Arguments)
}

var identifierPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// hasPlainNames reports whether no member name is a path expression. Crush would treat
// a.b as member b of a.
func hasPlainNames(arguments json.RawMessage) bool {
	for name := range decodeMembers(arguments) {
		if !identifierPattern().MatchString(name) {
			return false
		}
	}
	return true
}
