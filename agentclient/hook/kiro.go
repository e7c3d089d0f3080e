package hook

import (
	"cmp"
	"strings"
)

var kiroEvents = map[string]string{"agentSpawn": "SessionStart", "userPromptSubmit": "UserPromptSubmit"}

const kiroTools nameList = "execute_bash execute_cmd shell fs_read read fs_write write web_fetch web_search use_subagent subagent"

// parseKiro reads the input of the Kiro CLI. It can only be denied, by exit status 2 before a tool with the
// reason on stderr.
func parseKiro(in Input, o object, c *Call) {
	native := cmp.Or(o.nameText("hook_event_name"), in.Event)
	c.setOrigin(cmp.Or(kiroEvents[native], upperFirst(native)), o.text("session_id"), o.text("cwd"), in.Dir)
	c.setDetails(o)
	name := o.nameText("tool_name")
	gate := c.setGatedTool(name, kiroTools, o["tool_input"])
	if server, tool, ok := strings.Cut(strings.TrimPrefix(name, "@"), "/"); ok && strings.HasPrefix(name, "@") {
		c.setMCPTool(server, tool)
	}
	if gate {
		c.setGate(CanDeny, c.args.text("summary"), o.text("cwd"))
	}
}
