package rules

import (
	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/schema"
)

// An allowance is the rule of the scope session: for 15 minutes it approves the calls of one session
// that are known to be harmless. A person sees each other call.

// isAllowable reports whether an allowance may approve the call. Call.Redacted was checked before.
func isAllowable(c *Call) bool {
	switch {
	case c.PolicyAsked, call.IsPlan(c.Tool), c.Class != schema.ClassHarmless, !isLow(c.AgentRisk), !isLow(c.HubRisk):
		return false
	}
	c.decodeArguments()
	return c.args != nil && !c.args.HasAmbiguousNames() // otherwise another call may run than the assessed one
}

func isLow(r schema.Risk) bool { return r == "" || r == schema.LowRisk }
