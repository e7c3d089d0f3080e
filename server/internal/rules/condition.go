package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/agentclient/call/programs"
	"github.com/hookback/hookback/schema"
)

// operators are the tests of the policy language that a rule can have. The test under is only here,
// because it depends on the directory of the call.
var operators = []string{"equals", "starts_with", "contains", "glob", "at_most", "at_least", "under"}

const maxValue = 4 << 10 // bytes of a condition's value

// condition is a compiled schema.Condition.
type condition struct {
	matcher.Test
	path      []string
	pointer   string // JSON pointer of path
	is        string
	text      string   // the value, if it is a string
	isCommand bool     // the argument is a command line
	forAllow  bool     // part of a rule that allows
	operand   []string // the words of the value, if the argument is a command line
}

// compileCondition compiles a condition on a tool's arguments. field names its member in
// the draft, for errors.
func compileCondition(tool string, s schema.Condition, field string) (c condition, err error) {
	c.path, c.is = strings.Split(s.Argument, "."), s.Is
	c.pointer = call.PointerTo(c.path...)
	invalid := func(member, detail string) (condition, error) {
		return c, &schema.FieldError{Field: field + "." + member, Detail: detail}
	}
	value, err := call.ParseValue(s.Value, schema.MaxDepth)
	switch {
	case slices.Contains(c.path, ""):
		return invalid("argument", "must be an argument name, or a path of names joined by dots")
	case err != nil || len(s.Value) > maxValue:
		return invalid("value", fmt.Sprintf("must be a string, a number or a boolean of at most %d bytes", maxValue))
	case !slices.Contains(operators, s.Is):
		return invalid("is", "must be "+strings.Join(operators[:len(operators)-1], ", ")+" or under")
	}
	if _, ok := matcher.ConsequenceName(c.path); ok && !slices.Contains([]string{"equals", "at_least", "at_most"}, s.Is) {
		return invalid("is", "must be equals, at_least or at_most for a consequence")
	}
	var isText bool
	c.text, isText = value.Text()
	if s.Is != "under" {
		if c.Test, err = matcher.NewTest(s.Is, value, matcher.Exact); err != nil {
			return invalid("value", "must be "+err.Error())
		}
	} else if c.text = paths.ToSlashes(c.text); !paths.IsAbsolute(c.text) || !programs.IsPlainText(c.text) {
		return invalid("value", "must be the absolute path of a folder")
	}
	c.isCommand = isText && call.IsCommand(tool, c.path[len(c.path)-1])
	simple := true
	switch {
	case c.isCommand && s.Is == "glob":
		c.operand = matcher.SplitPattern(c.text)
	case c.isCommand && s.Is != "under":
		c.operand, simple = call.WordsOf(tool, c.text, "")
	}
	switch {
	case !simple:
		return invalid("value", "must be a single simple command, or its first words, without separators, pipes, redirects or variables")
	case s.Is != "equals" && matcher.HasParentSegment(c.text) && (!c.isCommand || s.Is == "glob" || s.Is == "under"):
		return invalid("value", "must not contain .. as a path segment: write the path it leads to")
	case s.Is == "under":
		c.text = path.Clean(c.text)
	}
	return c, nil
}

// evaluate tests the condition against a call's arguments.
func (c *condition) evaluate(call *Call) matcher.Verdict {
	if name, ok := matcher.ConsequenceName(c.path); ok && !call.IsSample {
		return c.MatchConsequence(call.Consequence, name)
	}
	call.decodeArguments()
	value, known := call.args.At(c.path...)
	switch {
	case !known:
		return matcher.Indeterminate
	case value == nil || value.IsNull():
		return matcher.NoMatch
	}
	text, isText := value.Text()
	switch {
	case c.isCommand && isText:
		return c.matchCommand(call, text)
	case c.is != "under":
		return c.Match(value)
	}
	file, ok := resolvePath(text, call.workingDir)
	if !isText || !ok {
		return matcher.Indeterminate
	}
	return matcher.MatchIf(paths.IsWithin(file, c.text))
}

// matchCommand compares a command line word by word, so that "npm testevil" does not start with
// "npm test". Operands in a list of their own belong to it.
func (c *condition) matchCommand(call *Call, line string) matcher.Verdict {
	words, simple := call.commandWords(line)
	if !simple || c.is == "under" {
		return matcher.Indeterminate
	}
	whole, known := words, true
	if l := call.wholeLine(c.pointer); l != nil {
		whole, known = l.words, l.simple
	}
	matches := func(words []string) bool { return matcher.Exact.CompareWords(c.is, c.operand, words) }
	switch {
	case !known:
		return matcher.Indeterminate
	case c.forAllow:
		return matcher.MatchIf(matches(whole) && (c.is != "glob" || !matcher.HasParentSegment(strings.Join(whole, " "))))
	case c.is == "glob" && matcher.HasParentSegment(line):
		return matcher.Indeterminate
	case c.is == "glob":
		return matcher.MatchIf(matcher.Exact.MatchGlob(c.text, line) || matcher.Exact.MatchGlob(c.text, strings.Join(whole, " ")))
	default:
		return matcher.MatchIf(matches(words) || matches(whole))
	}
}
