package hook

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// kiro is the Kiro CLI. Its only word is exit status 2 before a tool, with the
// reason on stderr.
type kiro struct{}

var kiroEvents = map[string]string{"agentSpawn": "SessionStart", "userPromptSubmit": "UserPromptSubmit"}

var kiroTools = map[string]string{
	"execute_bash": bash, "execute_cmd": bash, "shell": bash, "fs_read": read, "read": read, "fs_write": write, "write": write,
	"web_fetch": webFetch, "web_search": webSearch, "use_subagent": task, "subagent": task,
}

// Parse implements Agent.
func (kiro) Parse(in Input) (Call, error) {
	o, payload, err := in.object()
	if err != nil {
		return Call{}, err
	}
	c := Call{Event: schema.Event{Agent: "kiro", Payload: payload}, Limit: 30 * time.Second}
	native := cmp.Or(o.name("hook_event_name"), in.Event)
	if err := c.begin(cmp.Or(kiroEvents[native], pascal(native)), o.text("session_id"), o.text("cwd"), in.Dir); err != nil {
		return Call{}, err
	}
	c.tell(o)
	name, gate := o.name("tool_name"), c.Event.HookEventType == "PreToolUse"
	if name == "" && !gate {
		return c, nil
	}
	c.use(cmp.Or(name, unnamed), kiroTools, o["tool_input"])
	if server, tool, ok := strings.Cut(strings.TrimPrefix(name, "@"), "/"); ok && strings.HasPrefix(name, "@") {
		c.mcp(server, tool)
	}
	if gate {
		c.Point, c.Capabilities = Gate, CanDeny
		c.Ask = c.permission(c.args.text("summary"), o.text("cwd"))
	}
	return c, nil
}

// Render implements Agent.
func (kiro) Render(c *Call, v Verdict) Reply { return c.blocked(v) }
