package agentclient

import (
	"fmt"
	"math/big"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// operators are the tests that a policy knows.
var operators = []string{"equals", "contains", "glob", "regex", "greater", "less"}

// conditions reads when: an object of paths, each with one or more tests.
func (r *policyReader) conditions(n *jsonNode, allows bool) (all []condition) {
	if n.kind != jsonObject {
		r.wrong(n.at, `when must be an object such as {"command": {"glob": "rm *"}}, not %s`, n.kind)
		return nil
	}
	if len(n.members) == 0 {
		r.wrong(n.at, "when has no conditions; leave it out to mean every call of the tool")
	}
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		path := strings.Split(m.name, ".")
		switch {
		case seen[m.name]:
			r.wrong(m.at, "when has %q twice; put both tests in one object", m.name)
			continue
		case slices.Contains(path, ""):
			r.wrong(m.at, "%q is no path; it is an argument's name, or names with dots between them", m.name)
			continue
		case m.value.kind != jsonObject || len(m.value.members) == 0:
			r.wrong(m.value.at, `%s needs an object with a test, such as {"equals": …}; the tests are %s`, m.name, strings.Join(operators, ", "))
			continue
		}
		seen[m.name] = true
		all = append(all, r.tests(path, m.value, allows)...)
	}
	return all
}

// tests reads the tests of one argument; all must hold.
func (r *policyReader) tests(path []string, n *jsonNode, allows bool) (all []condition) {
	found := r.members(n, "a condition", operators...)
	for _, op := range operators { // the cheap ones first
		operand := found[op]
		if operand == nil {
			continue
		}
		c := condition{path: path, op: op, allows: allows}
		if c.words, c.test = r.test(op, operand, !allows); c.test != nil {
			all = append(all, c)
		}
		if text, ok := operand.value.(string); ok && allows {
			r.canAllow(path, op, operand.at, text)
		}
	}
	over, under := found["greater"], found["less"]
	if over != nil && under != nil {
		low, ok1 := over.number()
		high, ok2 := under.number()
		if ok1 && ok2 && low.Cmp(high) >= 0 {
			r.wrong(under.at, "no number is greater than %v and less than %v, so this rule can never match", over.value, under.value)
		}
	}
	return all
}

// test makes the test of an operator and its operand.
func (r *policyReader) test(op string, n *jsonNode, fold bool) (words string, test func(*jsonNode) verdict) {
	if op == "equals" {
		if n.kind == jsonText || n.kind == jsonBool {
			return fmt.Sprintf("is %#v", n.value), equal(n, fold)
		}
		if _, ok := n.number(); ok {
			return fmt.Sprintf("is %v", n.value), equal(n, fold)
		}
		r.wrong(n.at, "equals takes a text, a number, true or false")
		return "", nil
	}
	if op == "greater" || op == "less" {
		limit, ok := n.number()
		if !ok {
			r.wrong(n.at, "%s takes a number of at most 400 digits", op)
			return "", nil
		}
		sign := map[string]int{"greater": 1, "less": -1}[op]
		return fmt.Sprintf("is %s than %v", op, n.value), forNumber(func(x *big.Rat) bool { return x.Cmp(limit) == sign })
	}
	text, ok := n.value.(string)
	switch {
	case !ok || text == "":
		r.wrong(n.at, "%s takes a text that is not empty", op)
	case utf8.RuneCountInString(text) > maxPattern:
		r.wrong(n.at, "the text for %s is longer than %d characters", op, maxPattern)
	case op == "contains":
		return fmt.Sprintf("contains %q", text), contains(text, fold)
	case op == "glob":
		return fmt.Sprintf("matches %q", text), matchGlob(text, fold)
	case r.other:
		return "", nil // the rule isn't kept
	default:
		if why := unusable(text); why != "" {
			r.wrong(n.at, "the regular expression can't be used: %s", why)
			return "", nil
		}
		return fmt.Sprintf("matches /%s/", text), matchRegexp(text, fold)
	}
	return "", nil
}

// canAllow refuses what an allow never matches. A regular expression may: there
// | and $ are no signs of a shell.
func (r *policyReader) canAllow(path []string, op string, at int64, text string) {
	switch command := len(path) == 1 && path[0] == "command"; {
	case op == "regex":
	case command && strings.ContainsAny(text, shellSigns+"\n"):
		r.wrong(at, "a command with a separator, a pipe, a redirect or a substitution (%s) is never allowed by a rule, so this one can never match; use ask, or leave it to the agent", text)
	case op != "equals" && detours(text):
		r.wrong(at, "what leads elsewhere by .. is never allowed by a rule, so this one can never match; write the path it leads to")
	}
}

// maxProgram is how big a regular expression may get, in steps for each character.
const maxProgram = 5000

// unusable says why a regular expression can't be used; empty: it can. It doesn't
// compile it: a hook is in a hurry.
func unusable(pattern string) string {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	if programSize(tree) > maxProgram {
		return "it is too big; repeat less"
	}
	return ""
}

// programSize estimates the size of the compiled program.
func programSize(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)
	for _, sub := range tree.Sub {
		size += programSize(sub)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Max, tree.Min, 1)
	}
	return min(size, 1<<20)
}
