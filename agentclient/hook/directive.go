package hook

import (
	"cmp"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// Accepts returns the parts of a directive that this agent can apply at this call.
func (c *Call) Accepts() control.Accepts {
	gates := c.Point == Gate || c.Point == DeferToPrompt
	return control.Accepts{
		Freeze:  gates && c.Capabilities.Has(CanDeny),
		Grant:   (gates || c.Point == Prompt) && c.Capabilities.Has(CanGrant),
		Message: c.Capabilities.Has(CanMessage),
		Later:   c.AsksLater,
	}
}

// CanAskLater reports whether the agent can continue without the call and run it once a person has approved it: the
// call is refused for now, and the agent takes messages. The call of an agent's prompt is not: its user has it on the screen.
// Qwen Code opens its prompt before the gate, so the prompt would ask first, each time.
func (c *Call) CanAskLater() bool {
	gates := c.Point == Gate || c.Point == DeferToPrompt
	return gates && c.Capabilities.Has(CanDeny) && c.Event.Agent != "qwen" && control.CanReceive(c.Event.Agent) &&
		c.Ask != nil && c.Ask.Type == schema.Permission
}

// StopsWhenFrozen reports whether a freeze stops the agent at this call.
func (c *Call) StopsWhenFrozen() bool {
	isPermission := c.Point == Prompt && c.Ask != nil && c.Ask.Type == schema.Permission
	return isPermission || c.Accepts().Freeze
}

// Apply returns the verdict after the hub's directive, which may be nil. A freeze overrules
// everything, and a grant everything but the policy's denial. The caller drops a grant that
// it may not honor.
func (c *Call) Apply(d *control.Directive, v Verdict) Verdict {
	if d == nil {
		return v
	}
	accepts := c.Accepts()
	switch {
	case d.Freeze != nil && accepts.Freeze:
		v = c.Frozen(d.Freeze.Text(), d.Freeze.Guidance(), true)
	case d.Grant != nil && accepts.Grant && v.Effect != Deny && c.matches(d.Grant):
		v = Verdict{Effect: Allow, Reason: cmp.Or(d.Grant.By, "A person") + " approved this call once, in Hookback."}
	}
	if accepts.Message {
		v.Messages = d.Messages
	}
	return v
}

// matches reports whether the grant is for exactly this call. A call that is not known completely
// matches none: a person could have approved a smaller one that is equal to the known part.
func (c *Call) matches(g *control.Grant) bool {
	return c.Tool != nil && !c.Truncated && !c.Event.PayloadSanitized &&
		g.Digest != "" && g.Digest == control.Digest(c.Event.ToolName, c.Tool.Arguments)
}

// Frozen returns the denial of a freeze. With interrupt it ends the agent's turn, too, unless the agent
// is headless: such a run would end without a text and with the status of success, so its model
// gets the denial and says what was not done.
func (c *Call) Frozen(reason, guidance string, interrupt bool) Verdict {
	return Denial(reason, guidance, interrupt && !c.Headless)
}
