package policy

import (
	"math/big"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
)

// Func is a policy in Go: true asks a person, false is no opinion.
type Func func(Call) bool

// Evaluate implements Policy.
func (f Func) Evaluate(call Call) Result {
	if f(call) {
		return Result{Effect: Ask}
	}
	return Result{}
}

// Always returns a policy that asks about every call.
func Always() Func { return func(Call) bool { return true } }

// Never returns a policy without an opinion about any call.
func Never() Func { return func(Call) bool { return false } }

// Tools returns a policy that asks about the calls of some tools. names are names,
// aliases or globs, and match regardless of case.
func Tools(names ...string) Func {
	globs := make([]matcher.Glob, len(names))
	for i, name := range names {
		globs[i] = matcher.NewGlob(name, true)
	}
	return func(call Call) bool {
		return slices.ContainsFunc(globs, func(g matcher.Glob) bool { return g.Match(call.Name) || call.Alias != "" && g.Match(call.Alias) })
	}
}

// Above returns a policy that asks if the argument, a dotted path, exceeds limit. It also
// asks if the argument is present but not a number, because a tool might interpret a
// string such as "20,000".
func Above(argument string, limit float64) Func { return beyond(argument, limit, 1) }

// Below is Above for arguments that are less than limit.
func Below(argument string, limit float64) Func { return beyond(argument, limit, -1) }

// beyond returns a policy that asks if the argument compares to limit with sign.
func beyond(argument string, limit float64, sign int) Func {
	path, bound := strings.Split(argument, "."), new(big.Rat).SetFloat64(limit) // nil: not a finite number
	return func(pending Call) bool {
		c := callArguments{Call: pending}
		values, problem := c.lookup(path, false)
		return problem != "" || slices.ContainsFunc(values, func(n *value) bool {
			number, ok := matcher.Number(n)
			if !ok {
				return n.Kind() != call.NullKind
			}
			return bound == nil || number.Cmp(bound) == sign
		})
	}
}

// evaluator is a policy that combines others.
type evaluator func(Call) Result

// Evaluate implements Policy.
func (e evaluator) Evaluate(call Call) Result { return e(call) }

// Any combines policies and returns the strictest opinion: deny, then ask, then allow.
// Without policies it has no opinion.
func Any(policies ...Policy) Policy {
	return evaluator(func(call Call) (strictest Result) {
		for _, p := range policies {
			strictest = stricter(strictest, p.Evaluate(call))
		}
		return strictest
	})
}

// All combines policies. It has an opinion only if each of them has one, and then
// returns the strictest: All(Tools("refund"), Above("amount", 10000)) asks about large
// refunds. Without policies it asks.
func All(policies ...Policy) Policy {
	return evaluator(func(call Call) (strictest Result) {
		if len(policies) == 0 {
			return Result{Effect: Ask}
		}
		for _, p := range policies {
			r := p.Evaluate(call)
			if r.Effect == "" {
				return Result{}
			}
			strictest = stricter(strictest, r)
		}
		return strictest
	})
}

// strictness orders effects. Unknown effects count as ask.
func (t Effect) strictness() int {
	switch t {
	case "":
		return 0
	case Allow:
		return 1
	case Deny:
		return 3
	default:
		return 2
	}
}

func stricter(a, b Result) Result {
	if b.Effect.strictness() > a.Effect.strictness() {
		return b
	}
	if b.Effect.strictness() == a.Effect.strictness() { // fewer people and more approvals are stricter
		a.Owners, a.Quorum = a.Owners || b.Owners, max(a.Quorum, b.Quorum)
	}
	a.Later = a.Later && (b.Later || b.Effect.strictness() < a.Effect.strictness()) // waiting for a person is stricter
	return a
}

// Stricter returns the stricter of two results, the first if they are equal. Two that ask ask later only if both do.
func Stricter(a, b Result) Result { return stricter(a, b) }
