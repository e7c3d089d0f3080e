package agentclient

import (
	"math/big"
	"slices"
	"strings"
)

// PolicyFunc is a policy in Go: true asks a person, false is no opinion.
type PolicyFunc func(ToolCall) bool

// Evaluate implements Policy.
func (f PolicyFunc) Evaluate(call ToolCall) PolicyResult {
	if f(call) {
		return PolicyResult{Effect: EffectAsk}
	}
	return PolicyResult{}
}

// Always returns a policy that asks about every call.
func Always() PolicyFunc { return func(ToolCall) bool { return true } }

// Never returns a policy without an opinion about any call.
func Never() PolicyFunc { return func(ToolCall) bool { return false } }

// Tools returns a policy that asks about the calls of some tools. names are names,
// aliases or globs, and match regardless of case.
func Tools(names ...string) PolicyFunc {
	globs := make([]glob, len(names))
	for i, name := range names {
		globs[i] = newGlob(name, true)
	}
	return func(call ToolCall) bool {
		return slices.ContainsFunc(globs, func(g glob) bool { return g.match(call.Name) || call.Alias != "" && g.match(call.Alias) })
	}
}

// Above returns a policy that asks if the argument, a dotted path, exceeds limit. It also
// asks if the argument is present but not a number, because a tool might interpret a
// string such as "20,000".
func Above(argument string, limit float64) PolicyFunc {
	path, bound := strings.Split(argument, "."), new(big.Rat).SetFloat64(limit) // nil: not a finite number
	return func(call ToolCall) bool {
		c := callArguments{ToolCall: call}
		values, problem := c.lookup(path, false)
		return problem != "" || slices.ContainsFunc(values, func(n *jsonNode) bool {
			number, ok := n.number()
			if !ok {
				return n.kind != jsonNull
			}
			return bound == nil || number.Cmp(bound) > 0
		})
	}
}

// Any combines policies and returns the strictest opinion: deny, then ask, then allow.
// Without policies it has no opinion.
func Any(policies ...Policy) Policy { return anyOf(policies) }

// All combines policies. It has an opinion only if each of them has one, and then
// returns the strictest: All(Tools("refund"), Above("amount", 10000)) asks about large
// refunds. Without policies it asks.
func All(policies ...Policy) Policy { return allOf(policies) }

type (
	anyOf []Policy
	allOf []Policy
)

// Evaluate implements Policy.
func (a anyOf) Evaluate(call ToolCall) (strictest PolicyResult) {
	for _, p := range a {
		strictest = stricter(strictest, p.Evaluate(call))
	}
	return strictest
}

// Evaluate implements Policy.
func (a allOf) Evaluate(call ToolCall) PolicyResult {
	if len(a) == 0 {
		return PolicyResult{Effect: EffectAsk}
	}
	var strictest PolicyResult
	for _, p := range a {
		r := p.Evaluate(call)
		if r.Effect == "" {
			return PolicyResult{}
		}
		strictest = stricter(strictest, r)
	}
	return strictest
}

// strictness orders effects. Unknown effects count as ask.
func (t Effect) strictness() int {
	switch t {
	case "":
		return 0
	case EffectAllow:
		return 1
	case EffectDeny:
		return 3
	default:
		return 2
	}
}

func stricter(a, b PolicyResult) PolicyResult {
	if b.Effect.strictness() > a.Effect.strictness() {
		return b
	}
	return a
}
