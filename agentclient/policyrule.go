package agentclient

import (
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
)

// rule is one rule of a file.
type rule struct {
	tool   string
	glob   glob
	when   []condition
	then   Effect
	risk   schema.Risk
	reason string
	where  string
	line   int
	// guest: of a project's file, which can't allow; see PolicyFile.ForProject.
	guest bool
}

// says is the opinion of a rule that holds.
func (r *rule) says() Effect {
	if r.guest && r.then == ThenAllow {
		return ""
	}
	return r.then
}

// about reports whether the call is of the rule's tool.
func (r *rule) about(c *ToolCall) bool {
	return r.glob.match(c.Name) || c.Alias != "" && r.glob.match(c.Alias)
}

// match reports whether the rule says something of the call, and what is not clear.
func (r *rule) match(c *calling) (verdict, string) {
	if !r.about(&c.ToolCall) {
		return fails, ""
	}
	result, doubt := holds, ""
	for i := range r.when {
		switch got, why := r.when[i].check(c); got {
		case fails:
			return fails, ""
		case unclear:
			result, doubt = unclear, why
		}
	}
	if r.then == ThenAllow && (result == unclear || !c.allowable()) {
		return fails, ""
	}
	return result, doubt
}

// rules are a policy: the first that matches decides.
type rules []rule

// Rule implements Policy. A rule that would ask or deny, and can't be tried on this
// call, asks, unless a later one denies.
func (all rules) Rule(call ToolCall) PolicyResult {
	c := calling{ToolCall: call}
	var unsure PolicyResult
	for i := range all {
		r := &all[i]
		switch got, doubt := r.match(&c); {
		case got == unclear && unsure.Effect == "":
			unsure = PolicyResult{
				Effect: ThenAsk, Risk: r.risk, Where: r.where,
				Reason: fmt.Sprintf("A rule (%s) could not be tried on this call: %s.", r.where, doubt),
			}
		case got == holds && (unsure.Effect == "" || r.then == ThenDeny):
			return PolicyResult{Effect: r.says(), Risk: r.risk, Reason: r.reason, Where: r.where}
		case got == holds:
			return unsure
		}
	}
	return unsure
}

// words say what a rule does.
func (r *rule) words() string {
	var b strings.Builder
	switch r.tool {
	case "*":
		b.WriteString("any tool")
	default:
		b.WriteString(r.tool)
	}
	for i := range r.when {
		if i == 0 {
			b.WriteString(" when ")
		} else {
			b.WriteString(" and ")
		}
		b.WriteString(strings.Join(r.when[i].path, ".") + " " + r.when[i].words)
	}
	if r.then == ThenAllow && r.guest {
		b.WriteString(": left to the agent, since only your own policy can allow")
	} else {
		b.WriteString(": " + string(r.then))
	}
	if r.risk != "" {
		b.WriteString(" (" + string(r.risk) + " risk)")
	}
	if r.reason != "" {
		b.WriteString(", because: " + r.reason)
	}
	return b.String()
}
