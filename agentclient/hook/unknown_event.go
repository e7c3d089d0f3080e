package hook

import (
	"bytes"
	"encoding/json"

	"github.com/hookback/hookback/agentclient/hook/internal/renamed"
	"github.com/hookback/hookback/schema/control"
)

// Parse implements Agent. It treats an event with an unknown name as the agent's gate if it
// carries a tool call without a result. Vendors rename and add events, and a policy or a
// freeze must not lose its effect by that.
func (a *adapter) Parse(in Input) (Call, error) {
	p, err := in.parseObject()
	if err != nil {
		return Call{}, err
	}
	c, err := a.parseKnown(in, p)
	if err != nil || c.Point != Observe {
		return c, err
	}
	native, event, members, ok := renamed.Gate(a.name, p.members, in.Event)
	if !ok {
		return c, nil
	}
	as := *p
	as.members = members
	in.Event = event
	gate, err := a.parseKnown(in, &as)
	if err != nil || gate.Tool == nil || gate.Ask == nil {
		return c, nil //nolint:nilerr // the event itself was read
	}
	gate.Point, gate.Capabilities, gate.Fallback = Gate, CanDeny, Pass
	gate.HasPrompt, gate.PromptAfter, gate.Limit = false, 0, c.Limit
	context, path := gate.Ask.Context, gate.Ask.AgentPath
	gate.Ask = gate.permissionQuestion("", "")
	gate.Ask.Context, gate.Ask.AgentPath = context, path
	gate.Event.Extra = map[string]json.RawMessage{control.HookMember: encodeJSON(control.HookVerdict{UnknownEvent: true})}
	gate.UnknownEvent = native
	return gate, nil
}

// Render implements Agent.
func (a *adapter) Render(c *Call, v Verdict) Reply {
	if c.UnknownEvent == "" {
		return a.render(c, v)
	}
	if v = c.adaptVerdict(v); v.Effect != Deny {
		return Reply{}
	}
	r := a.render(c, v)
	// Agents that expect the event's name in the answer expect the one that they sent.
	r.Stdout = bytes.Replace(r.Stdout, []byte(`"hookEventName":"PreToolUse"`), append([]byte(`"hookEventName":`), encodeJSON(c.UnknownEvent)...), 1)
	return r
}
