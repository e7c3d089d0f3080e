package agentclient

import (
	"math/big"
	"slices"
	"strings"
)

// PolicyFunc is a policy in Go: true asks a person, false has no opinion.
type PolicyFunc func(ToolCall) bool

// Rule implements Policy.
func (f PolicyFunc) Rule(call ToolCall) PolicyResult {
	if f(call) {
		return PolicyResult{Effect: ThenAsk}
	}
	return PolicyResult{}
}

// Always asks about every call.
func Always() PolicyFunc { return func(ToolCall) bool { return true } }

// Never asks about no call.
func Never() PolicyFunc { return func(ToolCall) bool { return false } }

// Tools asks about the calls of these tools: names or aliases, which may be globs,
// without regard to case.
func Tools(names ...string) PolicyFunc {
	globs := make([]glob, len(names))
	for i, name := range names {
		globs[i] = newGlob(name, true)
	}
	return func(call ToolCall) bool {
		return slices.ContainsFunc(globs, func(g glob) bool { return g.match(call.Name) || call.Alias != "" && g.match(call.Alias) })
	}
}

// Above asks when the argument, a dotted path, is more than limit. It asks too when
// the argument is there and no number: nobody knows what the tool makes of "20,000".
func Above(argument string, limit float64) PolicyFunc {
	path, bound := strings.Split(argument, "."), new(big.Rat).SetFloat64(limit) // nil: no finite number
	return func(call ToolCall) bool {
		c := callArguments{ToolCall: call}
		values, problem := c.lookup(path)
		return problem != "" || slices.ContainsFunc(values, func(n *jsonNode) bool {
			number, ok := n.number()
			if !ok {
				return n.kind != jsonNull
			}
			return bound == nil || number.Cmp(bound) > 0
		})
	}
}

// Any has the strictest opinion of the policies: deny, then ask, then allow. Without
// policies it has none.
func Any(policies ...Policy) Policy { return anyOf(policies) }

// All has an opinion only where each of the policies has one, and then the strictest:
// All(Tools("refund"), Above("amount", 10000)) asks about big refunds. Without
// policies it asks.
func All(policies ...Policy) Policy { return allOf(policies) }

type (
	anyOf []Policy
	allOf []Policy
)

// Rule implements Policy.
func (a anyOf) Rule(call ToolCall) (strictest PolicyResult) {
	for _, p := range a {
		strictest = stricter(strictest, p.Rule(call))
	}
	return strictest
}

// Rule implements Policy.
func (a allOf) Rule(call ToolCall) PolicyResult {
	if len(a) == 0 {
		return PolicyResult{Effect: ThenAsk}
	}
	var strictest PolicyResult
	for _, p := range a {
		r := p.Rule(call)
		if r.Effect == "" {
			return PolicyResult{}
		}
		strictest = stricter(strictest, r)
	}
	return strictest
}

// strictness of what a policy says. An unknown word asks.
func (t Effect) strictness() int {
	switch t {
	case "":
		return 0
	case ThenAllow:
		return 1
	case ThenDeny:
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
