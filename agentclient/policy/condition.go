package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/matcher"
)

// condition is one test of one argument in a rule of a file.
type condition struct {
	matcher.Test
	path     []string
	forAllow bool      // part of a rule that allows
	runs     *runsTest // of runs in a rule that asks or denies, which takes the place of Match
}

// fileArguments are the argument names that agents use for the file of a tool call. In a
// policy, file stands for all of them.
var fileArguments = []string{
	"file", "file_path", "path", "filepath", "absolute_path", "notebook_path", "target_file", "filename",
}

// isCommand reports whether the argument is a command line.
func (c *condition) isCommand() bool { return matcher.IsShellArgument(c.path[len(c.path)-1]) }

// check evaluates the condition for a call. If the path has several values (in an array,
// or for file), one match is enough to ask or deny, and all must match to allow.
func (c *condition) check(args *callArguments) (matcher.Verdict, string) {
	if name, ok := matcher.ConsequenceName(c.path); ok {
		return c.MatchConsequence(args.consequence(), name), "it is unknown what the call does (" + name + ")"
	}
	if c.runs != nil && !c.forAllow {
		return c.checkRuns(args)
	}
	values, problem := args.lookup(c.path, c.forAllow)
	if problem != "" {
		return matcher.Indeterminate, problem
	}
	if len(values) == 0 && (c.forAllow || !c.mayBeUnread()) {
		return matcher.NoMatch, ""
	}
	best, worst := matcher.NoMatch, matcher.Match
	for _, v := range values {
		got := c.Match(v)
		best, worst = max(best, got), min(worst, got)
	}
	if c.forAllow {
		best = worst
	}
	if best == matcher.NoMatch && !c.forAllow && c.isFile() && c.Op == "glob" && slices.ContainsFunc(values, c.meets) {
		return matcher.Indeterminate, "a pattern in a path may stand for the file"
	}
	if unread := args.reading().Unread; best == matcher.NoMatch && !c.forAllow && len(unread) > 0 && c.mayBeUnread() {
		return matcher.Indeterminate, unread[0].Reason
	}
	if best == matcher.Indeterminate {
		return matcher.Indeterminate, fmt.Sprintf("its argument %s has a type or size that the rule can't compare", strings.Join(c.path, "."))
	}
	return best, ""
}

// meets reports whether a shell may replace a pattern in the directories of a path by names that match. One
// of only stars is no such pattern: packages/*/x would ask all day.
func (c *condition) meets(v *value) bool {
	text, _ := v.Text()
	segments := strings.Split(text, "/")
	return slices.ContainsFunc(segments[:len(segments)-1], func(s string) bool {
		return strings.ContainsAny(s, "*?[") && strings.Trim(s, "*") != ""
	}) && matcher.GlobsMeet(c.Text, text)
}

// mayBeUnread reports whether a part of a call that can't be read may hold the argument.
func (c *condition) mayBeUnread() bool { return c.isFile() || c.isCommand() }

func (c *condition) isFile() bool { return len(c.path) == 1 && c.path[0] == "file" }

// checkRuns evaluates runs for all commands of a call, or for a command line at another place in its
// arguments.
func (c *condition) checkRuns(args *callArguments) (best matcher.Verdict, why string) {
	if len(c.path) == 1 && matcher.IsShellArgument(c.path[0]) {
		return c.runs.match(args.reading())
	}
	values, problem := args.lookup(c.path, false)
	if problem != "" {
		return matcher.Indeterminate, problem
	}
	for _, v := range values {
		got, reason := matcher.Indeterminate, "its argument "+strings.Join(c.path, ".")+" has a type that the rule can't compare"
		if text, ok := v.Text(); ok {
			got, reason = c.runs.match(call.ReadLine(text, call.POSIX))
		} else if v.Kind() == call.NullKind {
			got = matcher.NoMatch
		}
		if got > best {
			best, why = got, reason
		}
	}
	return best, why
}
