package policy

import (
	"fmt"
	"strings"
)

// condition is one test of one argument in a rule of a file.
type condition struct {
	Test
	path     []string
	forAllow bool // part of a rule that allows
}

// Verdict is the result of a test or a rule for one call.
type Verdict int

// Indeterminate means that an argument can't be evaluated: it has another type than the
// rule expects, is duplicated, or is too large. Rules that ask or deny then ask; rules
// that allow do not match.
const (
	NoMatch Verdict = iota
	Indeterminate
	Match
)

// MatchIf returns Match or NoMatch.
func MatchIf(b bool) Verdict {
	if b {
		return Match
	}
	return NoMatch
}

// maxMatchBytes limits the text that globs and regular expressions search.
const maxMatchBytes = 256 << 10

// fileArguments are the argument names that agents use for the file of a tool call. In a
// policy, file stands for all of them.
var fileArguments = []string{
	"file", "file_path", "path", "filepath", "absolute_path", "notebook_path", "target_file", "filename",
}

// isCommand reports whether the argument is a command line.
func (c *condition) isCommand() bool { return isShellArgument(c.path[len(c.path)-1]) }

// check evaluates the condition for a call. If the path has several values (in an array,
// or for file), one match is enough to ask or deny, and all must match to allow.
func (c *condition) check(call *callArguments) (Verdict, string) {
	values, problem := call.lookup(c.path, c.forAllow)
	if problem != "" {
		return Indeterminate, problem
	}
	if len(values) == 0 {
		return NoMatch, ""
	}
	best, worst := NoMatch, Match
	for _, v := range values {
		got := c.match(v)
		best, worst = max(best, got), min(worst, got)
	}
	if c.forAllow {
		best = worst
	}
	if best == Indeterminate {
		return Indeterminate, fmt.Sprintf("its argument %s has a type or size that the rule can't compare", strings.Join(c.path, "."))
	}
	return best, ""
}
