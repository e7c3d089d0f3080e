package policy

import (
	"fmt"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
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
func (c *condition) check(args *callArguments) (Verdict, string) {
	if c.runs != nil && !c.forAllow {
		return c.checkRuns(args)
	}
	values, problem := args.lookup(c.path, c.forAllow)
	if problem != "" {
		return Indeterminate, problem
	}
	if len(values) == 0 && (c.forAllow || !c.mayBeUnread()) {
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
	if unread := args.reading().Unread; best == NoMatch && !c.forAllow && len(unread) > 0 && c.mayBeUnread() {
		return Indeterminate, unread[0].Reason
	}
	if best == Indeterminate {
		return Indeterminate, fmt.Sprintf("its argument %s has a type or size that the rule can't compare", strings.Join(c.path, "."))
	}
	return best, ""
}

// mayBeUnread reports whether a part of a call that can't be read may hold the argument.
func (c *condition) mayBeUnread() bool { return c.isFile() || c.isCommand() }

func (c *condition) isFile() bool { return len(c.path) == 1 && c.path[0] == "file" }

// checkRuns evaluates runs for all commands of a call, or for a command line at another place in its
// arguments.
func (c *condition) checkRuns(args *callArguments) (best Verdict, why string) {
	if len(c.path) == 1 && isShellArgument(c.path[0]) {
		return c.runs.match(args.reading())
	}
	values, problem := args.lookup(c.path, false)
	if problem != "" {
		return Indeterminate, problem
	}
	for _, v := range values {
		got, reason := Indeterminate, "its argument "+strings.Join(c.path, ".")+" has a type that the rule can't compare"
		if text, ok := v.Text(); ok {
			got, reason = c.runs.match(call.ReadLine(text, call.POSIX))
		} else if v.Kind() == call.NullKind {
			got = NoMatch
		}
		if got > best {
			best, why = got, reason
		}
	}
	return best, why
}
