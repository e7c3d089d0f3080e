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

// parseConditions reads when: an object of paths, each with one or more tests.
func (r *policyParser) parseConditions(n *jsonNode, forAllow bool) (all []condition) {
	if n.kind != jsonObject {
		r.addProblem(n.offset, `when must be an object such as {"command": {"glob": "rm *"}}, not %s`, n.kind)
		return nil
	}
	if len(n.members) == 0 {
		r.addProblem(n.offset, "when has no conditions; leave it out to mean every call of the tool")
	}
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		path := strings.Split(m.name, ".")
		switch {
		case seen[m.name]:
			r.addProblem(m.offset, "when has %q twice; put both tests in one object", m.name)
			continue
		case slices.Contains(path, ""):
			r.addProblem(m.offset, "%q is no path; it is an argument's name, or names with dots between them", m.name)
			continue
		case m.value.kind != jsonObject || len(m.value.members) == 0:
			r.addProblem(m.value.offset, `%s needs an object with a test, such as {"equals": …}; the tests are %s`, m.name, strings.Join(operators, ", "))
			continue
		}
		seen[m.name] = true
		all = append(all, r.parseTests(path, m.value, forAllow)...)
	}
	return all
}

// parseTests reads the tests of one argument; all must hold.
func (r *policyParser) parseTests(path []string, n *jsonNode, forAllow bool) (all []condition) {
	found := r.objectMembers(n, "a condition", operators...)
	for _, op := range operators { // the cheap ones first
		operand := found[op]
		if operand == nil {
			continue
		}
		c := condition{path: path, op: op, forAllow: forAllow}
		if c.description, c.test = r.newTest(op, operand, !forAllow); c.test != nil {
			all = append(all, c)
		}
		if text, ok := operand.value.(string); ok && forAllow {
			r.checkAllowPattern(path, op, operand.offset, text)
		}
	}
	greater, less := found["greater"], found["less"]
	if greater != nil && less != nil {
		low, ok1 := greater.number()
		high, ok2 := less.number()
		if ok1 && ok2 && low.Cmp(high) >= 0 {
			r.addProblem(less.offset, "no number is greater than %v and less than %v, so this rule can never match", greater.value, less.value)
		}
	}
	return all
}

// newTest makes the test of an operator and its operand.
func (r *policyParser) newTest(op string, n *jsonNode, fold bool) (words string, test func(*jsonNode) verdict) {
	if op == "equals" {
		if n.kind == jsonText || n.kind == jsonBool {
			return fmt.Sprintf("is %#v", n.value), equalTest(n, fold)
		}
		if _, ok := n.number(); ok {
			return fmt.Sprintf("is %v", n.value), equalTest(n, fold)
		}
		r.addProblem(n.offset, "equals takes a text, a number, true or false")
		return "", nil
	}
	if op == "greater" || op == "less" {
		limit, ok := n.number()
		if !ok {
			r.addProblem(n.offset, "%s takes a number of at most 400 digits", op)
			return "", nil
		}
		sign := map[string]int{"greater": 1, "less": -1}[op]
		return fmt.Sprintf("is %s than %v", op, n.value), numberTest(func(x *big.Rat) bool { return x.Cmp(limit) == sign })
	}
	text, ok := n.value.(string)
	switch {
	case !ok || text == "":
		r.addProblem(n.offset, "%s takes a text that is not empty", op)
	case utf8.RuneCountInString(text) > maxPattern:
		r.addProblem(n.offset, "the text for %s is longer than %d characters", op, maxPattern)
	case op == "contains":
		return fmt.Sprintf("contains %q", text), containsTest(text, fold)
	case op == "glob":
		return fmt.Sprintf("matches %q", text), globTest(text, fold)
	case r.otherTool:
		return "", nil // the rule isn't kept
	default:
		if why := checkPattern(text); why != "" {
			r.addProblem(n.offset, "the regular expression can't be used: %s", why)
			return "", nil
		}
		return fmt.Sprintf("matches /%s/", text), regexpTest(text, fold)
	}
	return "", nil
}

// checkAllowPattern refuses what an allow never matches. A regular expression may: there
// | and $ are no signs of a shell.
func (r *policyParser) checkAllowPattern(path []string, op string, at int64, text string) {
	switch command := len(path) == 1 && path[0] == "command"; {
	case op == "regex":
	case command && strings.ContainsAny(text, shellOperators+"\n"):
		r.addProblem(at, "a command with a separator, a pipe, a redirect or a substitution (%s) is never allowed by a rule, so this one can never match; use ask, or leave it to the agent", text)
	case op != "equals" && hasParentSegment(text):
		r.addProblem(at, "what leads elsewhere by .. is never allowed by a rule, so this one can never match; write the path it leads to")
	}
}

// maxProgram is how big a regular expression may get, in steps for each character.
const maxProgram = 5000

// checkPattern says why a regular expression can't be used; empty: it can. It doesn't
// compile it: a hook is in a hurry.
func checkPattern(pattern string) string {
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
