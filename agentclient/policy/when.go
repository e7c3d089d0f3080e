package policy

import (
	"errors"
	"fmt"
	"math/big"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// operators are the tests that a condition can have.
var operators = []string{"equals", "contains", "glob", "regex", "greater", "less", "runs"}

// parseConditions parses the when object: paths, each with one or more tests.
func (r *fileParser) parseConditions(n *jsonNode, forAllow bool) (all []condition) {
	if n.kind != jsonObject {
		r.addProblem(n.offset, `when must be an object such as {"command": {"glob": "rm *"}}, not %s`, n.kind)
		return nil
	}
	if len(n.members) == 0 {
		r.addProblem(n.offset, "when must not be empty; omit it to match every call of the tool")
	}
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		path := strings.Split(m.name, ".")
		switch {
		case seen[m.name]:
			r.addProblem(m.offset, "when has %q twice; combine both tests in one object", m.name)
			continue
		case slices.Contains(path, ""):
			r.addProblem(m.offset, "%q is not a path; use an argument name, or names separated by dots", m.name)
			continue
		case m.value.kind != jsonObject || len(m.value.members) == 0:
			r.addProblem(m.value.offset, `%s requires an object with a test, such as {"equals": …}; the tests are %s`, m.name, strings.Join(operators, ", "))
			continue
		}
		seen[m.name] = true
		all = append(all, r.parseTests(path, m.value, forAllow)...)
	}
	return all
}

// parseTests parses the tests of one argument. All of them must match.
func (r *fileParser) parseTests(path []string, n *jsonNode, forAllow bool) (all []condition) {
	found := r.objectMembers(n, "a condition", append(slices.Clone(operators), "option")...)
	r.checkOption(found, forAllow)
	for _, op := range operators { // cheap tests first
		operand := found[op]
		if operand == nil {
			continue
		}
		c := condition{path: path, op: op, forAllow: forAllow}
		c.text, _ = operand.value.(string)
		switch {
		case op == "runs":
			c.description, c.test = r.newRunsTest(operand, found["option"], forAllow)
		default:
			c.description, c.test = r.newTest(op, operand, !forAllow)
		}
		if c.test != nil && c.isCommand() {
			c.test = c.onWords()
		}
		if c.test != nil {
			all = append(all, c)
		}
		if c.text != "" && forAllow {
			r.checkAllowPattern(path, op, operand.offset, c.text)
		}
	}
	greater, less := found["greater"], found["less"]
	if greater != nil && less != nil {
		low, ok1 := greater.number()
		high, ok2 := less.number()
		if ok1 && ok2 && low.Cmp(high) >= 0 {
			r.addProblem(less.offset, "this rule can never match: no number is greater than %v and less than %v", greater.value, less.value)
		}
	}
	return all
}

// newTest returns the test of an operator with its operand, and a description of it.
func (r *fileParser) newTest(op string, n *jsonNode, fold bool) (description string, test func(*jsonNode) verdict) {
	if op == "equals" {
		if n.kind == jsonText || n.kind == jsonBool {
			return fmt.Sprintf("is %#v", n.value), equalTest(n, fold)
		}
		if _, ok := n.number(); ok {
			return fmt.Sprintf("is %v", n.value), equalTest(n, fold)
		}
		r.addProblem(n.offset, "equals requires a string, a number or a boolean")
		return "", nil
	}
	if op == "greater" || op == "less" {
		limit, ok := n.number()
		if !ok {
			r.addProblem(n.offset, "%s requires a number of at most 400 digits", op)
			return "", nil
		}
		sign := map[string]int{"greater": 1, "less": -1}[op]
		return fmt.Sprintf("is %s than %v", op, n.value), numberTest(func(x *big.Rat) bool { return x.Cmp(limit) == sign })
	}
	text, ok := n.value.(string)
	switch {
	case !ok || text == "":
		r.addProblem(n.offset, "%s requires a string that is not empty", op)
	case utf8.RuneCountInString(text) > maxPattern:
		r.addProblem(n.offset, "%s must have at most %d characters", op, maxPattern)
	case op == "contains":
		return fmt.Sprintf("contains %q", text), containsTest(text, fold)
	case op == "glob":
		return fmt.Sprintf("matches %q", text), globTest(text, fold)
	case r.otherTool:
		return "", nil // the rule is not kept
	default:
		if err := checkPattern(text); err != nil {
			r.addProblem(n.offset, "the regular expression can't be used: %v", err)
			return "", nil
		}
		return fmt.Sprintf("matches /%s/", text), regexpTest(text, fold)
	}
	return "", nil
}

// checkOption reports a misplaced option member.
func (r *fileParser) checkOption(found map[string]*jsonNode, forAllow bool) {
	option := found["option"]
	switch {
	case option == nil:
	case found["runs"] == nil:
		r.addProblem(option.offset, `option requires runs, such as {"runs": "rm", "option": ["r", "recursive"]}`)
	case forAllow:
		r.addProblem(option.offset, `option is for rules that ask or deny; a rule that allows lists options in glob, such as "git log --oneline *"`)
	}
}

// newRunsTest returns the test of runs and option.
func (r *fileParser) newRunsTest(n, option *jsonNode, forAllow bool) (description string, test func(*jsonNode) verdict) {
	command, _ := n.value.(string)
	if strings.TrimSpace(command) == "" || utf8.RuneCountInString(command) > maxPattern || strings.ContainsAny(command, shellOperators+"*?[\\\"'\n") {
		r.addProblem(n.offset, `runs requires a program such as "rm", or its first words such as "git push"`)
		return "", nil
	}
	description = fmt.Sprintf("runs %q", command)
	var names []string
	if option != nil {
		var ok bool
		if names, ok = option.words(); !ok || len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.Trim(name, "-") == "" }) {
			r.addProblem(option.offset, `option requires a list of names, such as ["r", "recursive"]`)
			return "", nil
		}
		description += " with the option " + strings.Join(names, " or ")
	}
	runs := newRunsTest(command, names, onWindows)
	if forAllow {
		return description, textTest(matchStrict(runs.matchStart))
	}
	return description, textTest(runs.match)
}

// checkAllowPattern reports patterns that a rule which allows can never match. Regular
// expressions are exempt, because | and $ are not shell operators there.
func (r *fileParser) checkAllowPattern(path []string, op string, at int64, text string) {
	switch command := len(path) == 1 && path[0] == "command"; {
	case op == "regex":
	case command && strings.ContainsAny(text, shellOperators+"\n"):
		r.addProblem(at, "this rule can never match: no rule allows a command with a separator, pipe, redirect or substitution (%s); use ask, or leave it to the agent", text)
	case op != "equals" && hasParentSegment(text):
		r.addProblem(at, `this rule can never match: no rule allows a path with ".."; use the resulting path`)
	}
}

// maxProgram limits the compiled size of a regular expression, in instructions.
const maxProgram = 5000

// checkPattern returns why a regular expression can't be used, or nil. It does not
// compile the pattern, because hooks must be fast.
func checkPattern(pattern string) error {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if programSize(tree) > maxProgram {
		return errors.New("it is too big; use fewer repetitions")
	}
	return nil
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
