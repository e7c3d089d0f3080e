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
	path  []string
	op    string
	words string // the test in words: is "x", is greater than 5
	test  func(*jsonNode) verdict
	// allows: it stands in a rule that allows.
	allows bool
}

// verdict is what is known of a condition or a rule.
type verdict int

// unclear is an argument that can't be judged: of another type than the rule
// expects, there twice, too big. A rule that asks or denies then asks; one that
// allows doesn't hold.
const (
	fails verdict = iota
	unclear
	holds
)

func sure(b bool) verdict {
	if b {
		return holds
	}
	return fails
}

// maxMatched is the longest text that a glob or a regular expression looks through.
const maxMatched = 256 << 10

// fileArguments are what agents call the file that a tool works on; a policy says
// file for all of them.
var fileArguments = []string{
	"file", "file_path", "path", "filepath", "absolute_path", "notebook_path", "target_file", "filename",
}

// check reports whether the condition holds for a call. Where several values are
// meant (through a list, or by file), one is enough for asking and denying, and all
// must hold for allowing.
func (c *condition) check(call *calling) (verdict, string) {
	values, doubt := call.values(c.path)
	if doubt != "" {
		return unclear, doubt
	}
	if len(values) == 0 {
		return fails, ""
	}
	best, worst := fails, holds
	for _, v := range values {
		got := c.test(v)
		best, worst = max(best, got), min(worst, got)
	}
	if c.allows {
		best = worst
	}
	if best == unclear {
		return unclear, fmt.Sprintf("its argument %s is not what the rule can compare with", strings.Join(c.path, "."))
	}
	return best, ""
}

// forText is a test of a text; anything else but null is unclear.
func forText(test func(string) verdict) func(*jsonNode) verdict {
	return func(n *jsonNode) verdict {
		switch text, ok := n.value.(string); {
		case ok:
			return test(text)
		case n.kind == jsonNull:
			return fails
		default:
			return unclear
		}
	}
}

// forNumber is a test of a number; anything else but null is unclear, a text that
// looks like one too.
func forNumber(test func(*big.Rat) bool) func(*jsonNode) verdict {
	return func(n *jsonNode) verdict {
		if n.kind == jsonNull {
			return fails
		}
		if number, ok := n.number(); ok {
			return sure(test(number))
		}
		return unclear
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

// equal compares with a text, a number, true or false.
func equal(want *jsonNode, fold bool) func(*jsonNode) verdict {
	if number, ok := want.number(); ok {
		return forNumber(func(n *big.Rat) bool { return n.Cmp(number) == 0 })
	}
	return func(n *jsonNode) verdict {
		switch {
		case n.kind == jsonNull:
			return fails
		case n.kind != want.kind:
			return unclear
		case fold && n.kind == jsonText:
			return sure(strings.EqualFold(n.value.(string), want.value.(string)))
		default:
			return sure(n.value == want.value)
		}
	}
}

func contains(part string, fold bool) func(*jsonNode) verdict {
	if !fold {
		return forText(careful(func(text string) bool { return strings.Contains(text, part) }))
	}
	part = strings.ToLower(part)
	return forText(func(text string) verdict { return sure(strings.Contains(strings.ToLower(text), part)) })
}

// matchGlob tests with a pattern.
func matchGlob(pattern string, fold bool) func(*jsonNode) verdict {
	g := newGlob(pattern, fold)
	if fold {
		return forText(generous(g.match))
	}
	return forText(careful(g.match))
}

// matchRegexp compiles the pattern when it is first needed: most rules are about
// other tools.
func matchRegexp(pattern string, fold bool) func(*jsonNode) verdict {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	match := func(text string) bool { return compiled().MatchString(text) }
	if fold {
		return forText(generous(match))
	}
	return forText(careful(match))
}

// generous is a test for rules that ask or deny. A path is also tried as it is
// without detours: /tmp/../etc/passwd is /etc/passwd.
func generous(test func(string) bool) func(string) verdict {
	return func(text string) verdict {
		if len(text) > maxMatched {
			return unclear
		}
		return sure(test(text) || test(path.Clean(strings.ReplaceAll(text, `\`, "/"))))
	}
}

// careful is a test for rules that allow: never of a text that hides something, is
// very long, or leads elsewhere by "..".
func careful(test func(string) bool) func(string) verdict {
	return func(text string) verdict {
		if len(text) > maxMatched || hides(text) || detours(text) {
			return fails
		}
		return sure(test(text))
	}
}

// detours reports whether a text has .. as a step of a path.
func detours(text string) bool {
	steps := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/\\ \t\"'=:,", r) })
	return slices.Contains(steps, "..")
}
