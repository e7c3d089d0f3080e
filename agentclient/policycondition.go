package agentclient

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
	description string // the test in words: is "x", is greater than 5
	test        func(*jsonNode) verdict
	// forAllow: it stands in a rule that allows.
	forAllow bool
}

// verdict is what is known of a condition or a rule.
type verdict int

// indeterminate is an argument that can't be judged: of another type than the rule
// expects, there twice, too big. A rule that asks or denies then asks; one that
// allows doesn't hold.
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

// maxMatchBytes is the longest text that a glob or a regular expression looks through.
const maxMatchBytes = 256 << 10

// fileArguments are what agents call the file that a tool works on; a policy says
// file for all of them.
var fileArguments = []string{
	"file", "file_path", "path", "filepath", "absolute_path", "notebook_path", "target_file", "filename",
}

// check reports whether the condition holds for a call. Where several values are
// meant (through a list, or by file), one is enough for asking and denying, and all
// must hold for allowing.
func (c *condition) check(call *callArguments) (verdict, string) {
	values, problem := call.lookup(c.path)
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
		return indeterminate, fmt.Sprintf("its argument %s is not what the rule can compare with", strings.Join(c.path, "."))
	}
	return best, ""
}

// textTest is a test of a text; anything else but null is unclear.
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

// numberTest is a test of a number; anything else but null is unclear, a text that
// looks like one too.
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

// number is the exact value, of numbers that anyone could mean: 1e999999999 has more
// digits than there is memory.
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

// equalTest compares with a text, a number, true or false.
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

// globTest tests with a pattern.
func globTest(pattern string, fold bool) func(*jsonNode) verdict {
	g := newGlob(pattern, fold)
	if fold {
		return textTest(matchBroad(g.match))
	}
	return textTest(matchStrict(g.match))
}

// regexpTest compiles the pattern when it is first needed: most rules are about
// other tools.
func regexpTest(pattern string, fold bool) func(*jsonNode) verdict {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	match := func(text string) bool { return compiled().MatchString(text) }
	if fold {
		return textTest(matchBroad(match))
	}
	return textTest(matchStrict(match))
}

// matchBroad is a test for rules that ask or deny. A path is also tried as it is
// without detours: /tmp/../etc/passwd is /etc/passwd.
func matchBroad(test func(string) bool) func(string) verdict {
	return func(text string) verdict {
		if len(text) > maxMatchBytes {
			return indeterminate
		}
		return verdictOf(test(text) || test(path.Clean(strings.ReplaceAll(text, `\`, "/"))))
	}
}

// matchStrict is a test for rules that allow: never of a text that hides something, is
// very long, or leads elsewhere by "..".
func matchStrict(test func(string) bool) func(string) verdict {
	return func(text string) verdict {
		if len(text) > maxMatchBytes || hasHiddenText(text) || hasParentSegment(text) {
			return noMatch
		}
		return verdictOf(test(text))
	}
}

// hasParentSegment reports whether a text has .. as a step of a path.
func hasParentSegment(text string) bool {
	steps := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/\\ \t\"'=:,", r) })
	return slices.Contains(steps, "..")
}
