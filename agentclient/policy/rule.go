package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
)

// later is the word for a rule that asks without blocking the agent.
const later = "later"

// rule is one rule of a file.
type rule struct {
	tool       string
	glob       matcher.Glob
	when       []condition
	options    matcher.Options // of commands that the rule may allow
	effect     Effect
	later      bool // ask, and the agent continues without the call
	owners     bool // ask the owners of the files
	quorum     int  // people who have to agree; 0: one
	risk       string
	reason     string
	location   string
	line       int
	restricted bool // from a project's file, which can't allow; see File.ForProject
}

// appliedEffect returns the effect of a rule that matches.
func (r *rule) appliedEffect() Effect {
	if r.restricted && r.effect == Allow {
		return ""
	}
	return r.effect
}

// appliesTo reports whether the rule is about the call's tool.
func (r *rule) appliesTo(c *Call) bool {
	return r.glob.Match(c.Name) || c.Alias != "" && r.glob.Match(c.Alias)
}

// appliesToReading reports whether a rule that asks or denies is about another name that the tool may
// have. A rule that allows must be about the name that the agent sent, or the one that its adapter knows.
func (r *rule) appliesToReading(c *callArguments) bool {
	matches := func(name string) bool {
		name = call.NameFor(name, r.tool)
		return r.glob.Match(name) || strings.HasPrefix(name, "mcp__") && matcher.NewGlob(call.PlainName(r.tool), true).Match(call.PlainName(name))
	}
	return r.effect != Allow && slices.ContainsFunc(c.reading().Names, matches)
}

// mayApplyTo reports whether the rule may be about the call.
func (r *rule) mayApplyTo(c *callArguments) bool {
	return r.appliesTo(&c.Call) || c.isUnnamed() || r.appliesToReading(c)
}

// evaluate returns whether the rule matches a call, and the reason if that is
// indeterminate.
func (r *rule) evaluate(c *callArguments) (matcher.Verdict, string) {
	switch {
	case r.appliesTo(&c.Call), r.appliesToReading(c):
	case !c.isUnnamed() || r.effect == Allow:
		return matcher.NoMatch, ""
	default:
		return matcher.Indeterminate, c.reading().Unread[0].Reason
	}
	result, problem := matcher.Match, ""
	for i := range r.when {
		switch conditionVerdict, why := r.when[i].check(c); conditionVerdict {
		case matcher.NoMatch:
			return matcher.NoMatch, ""
		case matcher.Indeterminate:
			result, problem = matcher.Indeterminate, why
		}
	}
	if r.effect == Allow && (result == matcher.Indeterminate || !c.isAllowable() || !r.coversCommands(c)) {
		return matcher.NoMatch, ""
	}
	return result, problem
}

// rules is a policy in which the first matching rule decides.
type rules []rule

// Evaluate implements Policy. If a rule that asks or denies is indeterminate for this call,
// the result is to ask, unless a later rule denies.
func (all rules) Evaluate(pending Call) Result {
	c := callArguments{Call: pending}
	var fallback Result
	for i := range all {
		r := &all[i]
		switch got, problem := r.evaluate(&c); {
		case got == matcher.Indeterminate && fallback.Effect == "":
			fallback = Result{
				Effect: Ask, Owners: r.owners, Quorum: r.quorum, Risk: r.risk, Location: r.location,
				Reason: fmt.Sprintf("The rule at %s could not be evaluated for this call: %s.", r.location, problem),
			}
		case got == matcher.Match && (fallback.Effect == "" || r.effect == Deny):
			return Result{
				Effect: r.appliedEffect(), Later: r.later, Owners: r.owners, Quorum: r.quorum, Risk: r.risk, Reason: r.reason, Location: r.location,
			}
		case got == matcher.Match:
			return fallback
		}
	}
	return fallback
}

// describe returns a sentence about the rule.
func (r *rule) describe() string {
	var b strings.Builder
	tool := r.tool
	if tool == "*" {
		tool = "any tool"
	}
	conditions := make([]string, len(r.when))
	for i := range r.when {
		conditions[i] = strings.Join(r.when[i].path, ".") + " " + r.when[i].Description
	}
	b.WriteString(matcher.DescribeCalls(tool, conditions))
	if r.effect == Allow && r.restricted {
		b.WriteString(": left to the agent, since only your own policy can allow")
	} else if r.later {
		b.WriteString(": ask, and Claude Code, Codex and Gemini CLI continue without it; other agents wait")
	} else {
		b.WriteString(": " + string(r.effect))
	}
	if r.owners {
		b.WriteString(", the owners of the files decide")
	}
	if r.quorum > 0 {
		fmt.Fprintf(&b, ", %d people have to agree", r.quorum)
	}
	if r.risk != "" {
		b.WriteString(" (" + r.risk + " risk)")
	}
	if r.reason != "" {
		b.WriteString(", because: " + r.reason)
	}
	return b.String()
}
