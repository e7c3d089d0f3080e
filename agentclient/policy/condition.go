package policy

import (
	"encoding/json"
	"fmt"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// condition is one test of one argument.
type condition struct {
	path        []string
	op          string
	text        string // the operand, if it is a string
	description string // such as `is "x"` or "is greater than 5"
	test        func(*jsonNode) verdict
	forAllow    bool // part of a rule that allows
}

// verdict is the result of a condition or a rule for one call.
type verdict int

// indeterminate means that an argument can't be evaluated: it has another type than the
// rule expects, is duplicated, or is too large. Rules that ask or deny then ask; rules
// that allow do not match.
const (
	noMatch verdict = iota
	indeterminate
	matched
)

func verdictOf(b bool) verdict {
	if b {
		return matched
	}
	return noMatch
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
func (c *condition) check(call *callArguments) (verdict, string) {
	values, problem := call.lookup(c.path, c.forAllow)
	if problem != "" {
		return indeterminate, problem
	}
	if len(values) == 0 {
		return noMatch, ""
	}
	best, worst := noMatch, matched
	for _, v := range values {
		got := c.test(v)
		best, worst = max(best, got), min(worst, got)
	}
	if c.forAllow {
		best = worst
	}
	if best == indeterminate {
		return indeterminate, fmt.Sprintf("its argument %s has a type or size that the rule can't compare", strings.Join(c.path, "."))
	}
	return best, ""
}

// textTest returns a test of strings. Null is no match, other types are indeterminate.
func textTest(test func(string) verdict) func(*jsonNode) verdict {
	return func(n *jsonNode) verdict {
		switch text, ok := n.value.(string); {
		case ok:
			return test(text)
		case n.kind == jsonNull:
			return noMatch
		default:
			return indeterminate
		}
	}
}

// numberTest returns a test of numbers. Null is no match; other types, numeric strings
// included, are indeterminate.
func numberTest(test func(*big.Rat) bool) func(*jsonNode) verdict {
	return func(n *jsonNode) verdict {
		if n.kind == jsonNull {
			return noMatch
		}
		if number, ok := n.number(); ok {
			return verdictOf(test(number))
		}
		return indeterminate
	}
}

// number returns the exact value. It rejects numbers of unreasonable size, because the
// digits of 1e999999999 would not fit in memory.
func (n *jsonNode) number() (*big.Rat, bool) {
	literal, ok := n.value.(json.Number)
	if !ok || len(literal) > 400 {
		return nil, false
	}
	if _, exponent, found := strings.Cut(strings.ToLower(string(literal)), "e"); found {
		if e, err := strconv.Atoi(exponent); err != nil || e > 400 || e < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(literal))
}

// equalTest returns a test for equality with a string, a number or a boolean.
func equalTest(want *jsonNode, fold bool) func(*jsonNode) verdict {
	if number, ok := want.number(); ok {
		return numberTest(func(n *big.Rat) bool { return n.Cmp(number) == 0 })
	}
	return func(n *jsonNode) verdict {
		switch {
		case n.kind == jsonNull:
			return noMatch
		case n.kind != want.kind:
			return indeterminate
		case fold && n.kind == jsonText:
			return verdictOf(strings.EqualFold(n.value.(string), want.value.(string)))
		default:
			return verdictOf(n.value == want.value)
		}
	}
}

func containsTest(part string, fold bool) func(*jsonNode) verdict {
	if !fold {
		return textTest(matchStrict(func(text string) bool { return strings.Contains(text, part) }))
	}
	part = strings.ToLower(part)
	return textTest(func(text string) verdict { return verdictOf(strings.Contains(strings.ToLower(text), part)) })
}

// globTest returns a test with a glob pattern.
func globTest(pattern string, fold bool) func(*jsonNode) verdict {
	g := newGlob(pattern, fold)
	if fold {
		return textTest(matchBroad(g.match))
	}
	return textTest(matchStrict(g.match))
}

// regexpTest returns a test that compiles its pattern on first use, because most rules
// are about other tools.
func regexpTest(pattern string, fold bool) func(*jsonNode) verdict {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	match := func(text string) bool { return compiled().MatchString(text) }
	if fold {
		return textTest(matchBroad(match))
	}
	return textTest(matchStrict(match))
}

// matchBroad adapts a test for rules that ask or deny. It also tests the cleaned path,
// because /tmp/../etc/passwd is /etc/passwd.
func matchBroad(test func(string) bool) func(string) verdict {
	return func(text string) verdict {
		if len(text) > maxMatchBytes {
			return indeterminate
		}
		return verdictOf(test(text) || test(path.Clean(strings.ReplaceAll(text, `\`, "/"))))
	}
}

// matchStrict adapts a test for rules that allow. It never matches text that has hidden
// characters, is very long, or contains parent segments ("..").
func matchStrict(test func(string) bool) func(string) verdict {
	return func(text string) verdict {
		if len(text) > maxMatchBytes || hasHiddenText(text) || hasParentSegment(text) {
			return noMatch
		}
		return verdictOf(test(text))
	}
}

// hasParentSegment reports whether a path in text has a ".." segment.
func hasParentSegment(text string) bool {
	steps := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/\\ \t\"'=:,", r) })
	return slices.Contains(steps, "..")
}
