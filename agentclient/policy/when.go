package policy

import (
	"errors"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
)

// operators are the tests that a condition can have.
var operators = []string{"equals", "contains", "glob", "regex", "greater", "less", "runs"}

// parseConditions parses the when object: paths, each with one or more tests.
func (r *fileParser) parseConditions(n *value, forAllow bool) (all []condition) {
	if n.Kind() != call.ObjectKind {
		r.addProblem(n.Offset(), `when must be an object such as {"command": {"glob": "rm *"}}, not %s`, n.Kind())
		return nil
	}
	if len(n.Members()) == 0 {
		r.addProblem(n.Offset(), "when must not be empty; omit it to match every call of the tool")
	}
	seen := make(map[string]bool, len(n.Members()))
	for _, m := range n.Members() {
		path := strings.Split(m.Name, ".")
		switch {
		case seen[m.Name]:
			r.addProblem(m.Offset, "when has %q twice; combine both tests in one object", m.Name)
			continue
		case slices.Contains(path, ""):
			r.addProblem(m.Offset, "%q is not a path; use an argument name, or names separated by dots", m.Name)
			continue
		case m.Value.Kind() != call.ObjectKind || len(m.Value.Members()) == 0:
			r.addProblem(m.Value.Offset(), `%s requires an object with a test, such as {"equals": …}; the tests are %s`, m.Name, strings.Join(operators, ", "))
			continue
		}
		seen[m.Name] = true
		if m.Name == "consequence" && !slices.Contains(operators, m.Value.Members()[0].Name) {
			all = append(all, r.parseConsequence(m.Value, forAllow)...)
			continue
		}
		all = append(all, r.parseTests(path, m.Value, forAllow)...)
	}
	return all
}

// parseConsequence parses the tests of the effect of a call: {"unrecoverable": {"greater": 0}}.
func (r *fileParser) parseConsequence(n *value, forAllow bool) (all []condition) {
	for _, m := range n.Members() {
		path := []string{"consequence", m.Name}
		if _, ok := matcher.ConsequenceName(path); !ok || m.Value.Kind() != call.ObjectKind || len(m.Value.Members()) == 0 {
			r.addProblem(m.Offset, `consequence can have %s, each with a test such as {"greater": 0}`, strings.Join(matcher.ConsequenceNames(), ", "))
			continue
		}
		all = append(all, r.parseTests(path, m.Value, forAllow)...)
	}
	return all
}

// parseTests parses the tests of one argument. All of them must match.
func (r *fileParser) parseTests(path []string, n *value, forAllow bool) (all []condition) {
	found := r.objectMembers(n, "a condition", append(slices.Clone(operators), "option")...)
	r.checkOption(found, forAllow)
	for _, op := range operators { // cheap tests first
		operand := found[op]
		if operand == nil {
			continue
		}
		c := condition{path: path, forAllow: forAllow}
		if op == "runs" {
			c.Test, c.runs = r.newRunsTest(operand, found["option"])
		} else {
			c.Test = r.newTest(op, operand, forAllow)
		}
		if c.Match != nil && c.isCommand() {
			c.Match = c.onWords()
		}
		if c.Match != nil {
			all = append(all, c)
		}
		if text, _ := operand.Text(); text != "" && forAllow {
			r.checkAllowPattern(path, op, operand.Offset(), text)
		}
	}
	greater, less := found["greater"], found["less"]
	if greater != nil && less != nil {
		low, ok1 := matcher.Number(greater)
		high, ok2 := matcher.Number(less)
		if ok1 && ok2 && low.Cmp(high) >= 0 {
			r.addProblem(less.Offset(), "this rule can never match: no number is greater than %v and less than %v", greater.Literal(), less.Literal())
		}
	}
	return all
}

// newTest returns the test of an operator with its operand. Its match is nil if the rule is not kept.
func (r *fileParser) newTest(op string, n *value, forAllow bool) matcher.Test {
	strictness := matcher.Broad
	if forAllow {
		strictness = matcher.Strict
	}
	test, err := matcher.NewTest(op, n, strictness)
	switch {
	case err != nil:
		r.addProblem(n.Offset(), "%s requires %v", op, err)
		return matcher.Test{}
	case op != "equals" && utf8.RuneCountInString(test.Text) > maxPattern:
		r.addProblem(n.Offset(), "%s must have at most %d characters", op, maxPattern)
		return matcher.Test{}
	case op == "regex" && r.otherTool:
		return matcher.Test{}
	case op == "regex":
		if err := checkPattern(test.Text); err != nil {
			r.addProblem(n.Offset(), "the regular expression can't be used: %v", err)
			return matcher.Test{}
		}
	}
	return test
}

// checkOption reports a misplaced option member.
func (r *fileParser) checkOption(found map[string]*value, forAllow bool) {
	option := found["option"]
	switch {
	case option == nil:
	case found["runs"] == nil:
		r.addProblem(option.Offset(), `option requires runs, such as {"runs": "rm", "option": ["r", "recursive"]}`)
	case forAllow:
		r.addProblem(option.Offset(), `option is for rules that ask or deny; a rule that allows lists options in glob, such as "git log --oneline *"`)
	}
}

// newRunsTest returns the test of runs and option. Match is for a rule that allows.
func (r *fileParser) newRunsTest(n, option *value) (matcher.Test, *runsTest) {
	command, _ := n.Text()
	if strings.TrimSpace(command) == "" || utf8.RuneCountInString(command) > maxPattern ||
		strings.ContainsAny(command, call.ShellOperators+"*?[\\\"'\n") {
		r.addProblem(n.Offset(), `runs requires a program such as "rm", or its first words such as "git push"`)
		return matcher.Test{}, nil
	}
	test := matcher.Test{Op: "runs", Text: command, Description: matcher.DescribeTest("runs", n)}
	var names []string
	if option != nil {
		var ok bool
		if names, ok = option.Words(); !ok || len(names) == 0 ||
			slices.ContainsFunc(names, func(name string) bool { return strings.Trim(name, "-") == "" }) {
			r.addProblem(option.Offset(), `option requires a list of names, such as ["r", "recursive"]`)
			return matcher.Test{}, nil
		}
		test.Description += " with the option " + strings.Join(names, " or ")
	}
	runs := newRunsTest(command, names)
	test.Match = matcher.Strict.TextTest(runs.matchStart)
	return test, runs
}

// checkAllowPattern reports patterns that a rule which allows can never match. Regular
// expressions are exempt, because | and $ are not shell operators there.
func (r *fileParser) checkAllowPattern(path []string, op string, at int64, text string) {
	switch command := len(path) == 1 && path[0] == "command"; {
	case op == "regex":
	case command && strings.ContainsAny(text, call.ShellOperators+"\n"):
		r.addProblem(at, "this rule can never match: no rule allows a command with a separator, pipe, redirect or substitution (%s); use ask, or leave it to the agent", text)
	case op != "equals" && matcher.HasParentSegment(text):
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
