package hook

import (
	"cmp"

	"github.com/hookback/hookback/schema/control"
)

// Accepts returns the parts of a directive that this agent can apply at this call.
func (c *Call) Accepts() control.Accepts {
	gates := c.Point == Gate || c.Point == DeferToPrompt
	return control.Accepts{
		Freeze:  gates && c.Capabilities.Has(CanDeny),
		Grant:   gates && c.Capabilities.Has(CanGrant),
		Message: c.Capabilities.Has(CanMessage),
	}
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
		v = freezeVerdict(d.Freeze)
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

// freezeVerdict denies the call and, where the agent can, ends its turn.
func freezeVerdict(f *control.FreezeNotice) Verdict {
	return Verdict{Effect: Deny, Reason: f.Guidance(), StopReason: f.Text()}
}
