package hook

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/hook/internal/textform"
)

// kiro is the Kiro CLI. It can only be denied, by exit status 2 before a tool with the
// reason on stderr.
type kiro struct{}

var kiroEvents = map[string]string{"agentSpawn": "SessionStart", "userPromptSubmit": "UserPromptSubmit"}

const kiroTools ownTools = "execute_bash execute_cmd shell fs_read read fs_write write web_fetch web_search use_subagent subagent"

// Parse implements Agent.
func (kiro) Parse(in Input) (Call, error) {
	o, c, err := in.newCall("kiro", 30*time.Second)
	if err != nil {
		return Call{}, err
	}
	native := cmp.Or(o.nameText("hook_event_name"), in.Event)
	if err := c.setOrigin(cmp.Or(kiroEvents[native], textform.UpperFirst(native)), o.text("session_id"), o.text("cwd"), in.Dir); err != nil {
		return Call{}, err
	}
	c.setDetails(o)
	name := o.nameText("tool_name")
	gate := c.setGatedTool(name, kiroTools, o["tool_input"])
	if server, tool, ok := strings.Cut(strings.TrimPrefix(name, "@"), "/"); ok && strings.HasPrefix(name, "@") {
		c.setMCPTool(server, tool)
	}
	if gate {
		c.setGate(CanDeny, c.args.text("summary"), o.text("cwd"))
	}
	return c, nil
}

// Render implements Agent.
func (kiro) Render(c *Call, v Verdict) Reply { return c.renderExitStatus(v) }
