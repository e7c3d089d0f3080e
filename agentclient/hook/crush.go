package hook

import (
	"cmp"
	"encoding/json"
	"regexp"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
)

// crush is Charm's Crush. Silence leads to its own permissions; it can't be told to
// ask. Those approve everything in crush run and with --yolo, of which it tells its
// hooks nothing: only where somebody certainly sits at it is silence a question. An edit is merged into the arguments, each name taken for a path.
type crush struct{}

var crushTools = map[string]string{
	"bash": bash, "view": read, "write": write, "edit": edit, "multiedit": edit,
	"fetch": webFetch, "agentic_fetch": webFetch, "web_fetch": webFetch, "web_search": webSearch, "agent": task,
}

// Parse implements Agent.
func (crush) Parse(in Input) (Call, error) {
	o, payload, err := in.object()
	if err != nil {
		return Call{}, err
	}
	c := Call{Event: schema.Event{Agent: "crush", Payload: payload}, Limit: 30 * time.Second, Headless: in.unattended()}
	event := cmp.Or(o.name("event"), o.name("hook_event_name"), in.Event)
	if err := c.begin(event, o.text("session_id"), in.env("CRUSH_PROJECT_DIR"), o.text("cwd"), in.Dir); err != nil {
		return Call{}, err
	}
	c.tell(o)
	name := o.name("tool_name")
	if name != "" || event == "PreToolUse" {
		c.use(cmp.Or(name, unnamed), crushTools, written(o["tool_input"]))
	}
	if event == "PreToolUse" {
		c.Point, c.Capabilities = Gate, CanAllow|CanDeny|CanEdit
		c.own = in.attended("run", "r", "-y", "--yolo")
		c.Ask = c.permission(c.args.text("description"), o.text("cwd"))
	}
	return c, nil
}

// Render implements Agent.
func (crush) Render(c *Call, v Verdict) Reply {
	if attended, _ := c.own.(bool); v.Effect == Ask && attended {
		return Reply{} // its own prompt comes next
	}
	if v.Effect == Ask && !c.Headless {
		v.Reason += sits
	}
	v = c.mergeable(c.express(v))
	if v.Effect == Allow && v.Arguments != nil && !plainNames(v.Arguments) {
		v = c.unedited(v.Arguments)
	}
	if v.Effect == Pass {
		return Reply{}
	}
	return say(struct {
		Decision Effect          `json:"decision"`
		Reason   string          `json:"reason,omitempty"`
		Input    json.RawMessage `json:"updated_input,omitempty"`
	}{v.Effect, v.denial(), v.Arguments})
}

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// plainNames reports whether no member's name means anything as a path: a.b would
// set b within a.
func plainNames(arguments json.RawMessage) bool {
	for name := range membersOf(arguments) {
		if !plainName().MatchString(name) {
			return false
		}
	}
	return true
}
