// Package matcher compares the arguments and the words of a call with the operands of a rule. The rules of
// hookback.json and those of the hub share it.
package matcher

import (
	"errors"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/call/programs"
)

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

// MaxText limits the text that globs and regular expressions search, in bytes.
const MaxText = 256 << 10

// Strictness is the treatment of text that may mislead.
type Strictness int

const (
	// Broad is for rules of a file that ask or deny. Their tests ignore case and also test the
	// cleaned path, because /tmp/../etc/passwd is /etc/passwd.
	Broad Strictness = iota
	// Strict is for rules of a file that allow. Text with hidden characters, with parent segments
	// ("..") or of great length is indeterminate.
	Strict
	// Exact is for rules that are made from a call. Text with parent segments or of great length is
	// indeterminate. Their globs have the classes of path.Match, such as [a-z].
	Exact
)

// maxText returns the length of the text that patterns search, in bytes.
func (s Strictness) maxText() int {
	if s == Exact {
		return 64 << 10
	}
	return MaxText
}

// Test compares the value of an argument with an operand.
type Test struct {
	Op          string
	Text        string // the operand, if it is a string
	Description string
	// Match compares a value. Null is no match; a value of another type than the operand's is
	// indeterminate, numeric strings included.
	Match func(*call.Value) Verdict
}

// NewTest returns the test of an operator: equals, contains, starts_with, glob, regex, greater,
// less, at_least or at_most. The error names what is required instead, such as "a number". The
// pattern of a regex must be valid: it is compiled on first use.
func NewTest(op string, operand *call.Value, s Strictness) (Test, error) {
	t := Test{Op: op, Description: DescribeTest(op, operand)}
	t.Text, _ = operand.Text()
	number, isNumber := Number(operand)
	numbers := func(accept func(order int) bool) func(*call.Value) Verdict {
		return numberTest(func(n *big.Rat) bool { return accept(n.Cmp(number)) })
	}
	switch op {
	case "equals":
		if !isNumber && operand.Kind() != call.TextKind && operand.Kind() != call.BoolKind {
			return t, errors.New("a string, a number or a boolean")
		}
		t.Match = equalTest(operand, s == Broad)
		if isNumber {
			t.Match = numbers(func(order int) bool { return order == 0 })
		}
		return t, nil
	case "greater", "less", "at_least", "at_most":
		if !isNumber {
			return t, errors.New("a number of at most 400 digits")
		}
		t.Match = numbers(func(order int) bool {
			return order == 0 && op[0] == 'a' || order > 0 && (op == "greater" || op == "at_least") || order < 0 && (op == "less" || op == "at_most")
		})
		return t, nil
	}
	switch _, invalid := path.Match(t.Text, ""); {
	case s == Exact && strings.TrimSpace(t.Text) == "":
		return t, errors.New("a string that is not blank")
	case t.Text == "":
		return t, errors.New("a string that is not empty")
	case s == Exact && op == "glob" && invalid != nil:
		return t, errors.New("a valid pattern: * matches any characters, ? matches one, [a-z] matches one of a range")
	}
	switch op {
	case "contains":
		t.Match = containsTest(t.Text, s)
	case "starts_with":
		t.Match = s.TextTest(func(text string) bool { return strings.HasPrefix(text, t.Text) })
	case "glob":
		t.Match = s.TextTest(s.newMatcher(t.Text))
	case "regex": // most rules are about other tools
		compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(t.Text) })
		t.Match = s.TextTest(func(text string) bool { return compiled().MatchString(text) })
	default:
		return t, errors.New("the operand of another operator")
	}
	return t, nil
}

// newMatcher returns the test of a glob pattern for a whole text.
func (s Strictness) newMatcher(pattern string) func(text string) bool {
	if s == Exact {
		return func(text string) bool { return matchClasses(pattern, text) }
	}
	return NewGlob(pattern, s == Broad).Match
}

// MatchGlob reports whether a glob pattern matches the whole text.
func (s Strictness) MatchGlob(pattern, text string) bool { return s.newMatcher(pattern)(text) }

// matchClasses compares a text with a pattern of path.Match in which * matches /, too.
func matchClasses(pattern, text string) bool {
	swap := strings.NewReplacer("/", "\x01")
	ok, err := path.Match(swap.Replace(pattern), swap.Replace(text))
	return err == nil && ok
}

// DescribeTest returns the words for a test in a sentence, such as: is at most 5. It shows the
// operand in full, because a truncated one would hide calls that a rule covers.
func DescribeTest(op string, operand *call.Value) string {
	verb := op // contains, runs
	switch op {
	case "equals":
		verb = "is"
	case "glob", "regex":
		verb = "matches"
	case "starts_with":
		verb = "starts with"
	case "under":
		verb = "is under"
	case "greater", "less":
		verb = "is " + op + " than"
	case "at_least", "at_most":
		verb = "is at " + op[3:]
	}
	switch text, isText := operand.Text(); {
	case op == "regex" && isText:
		return verb + " /" + text + "/"
	case isText:
		return verb + " " + strconv.Quote(text)
	default:
		return verb + " " + operand.Literal()
	}
}

// DescribeCalls returns the words for the calls of a tool that meet all conditions.
func DescribeCalls(tool string, conditions []string) string {
	if len(conditions) == 0 {
		return tool
	}
	return tool + " when " + strings.Join(conditions, " and ")
}

// textTest returns a test of strings. Null is no match, other types are indeterminate.
func textTest(test func(string) Verdict) func(*call.Value) Verdict {
	return func(n *call.Value) Verdict {
		switch text, ok := n.Text(); {
		case ok:
			return test(text)
		case n.Kind() == call.NullKind:
			return NoMatch
		default:
			return Indeterminate
		}
	}
}

// TextTest returns a test of strings with this strictness.
func (s Strictness) TextTest(test func(string) bool) func(*call.Value) Verdict {
	return textTest(func(text string) Verdict {
		switch {
		case len(text) > s.maxText(), s != Broad && HasParentSegment(text), s == Strict && !programs.IsPlainText(text):
			return Indeterminate
		case s == Broad && test(path.Clean(strings.ReplaceAll(text, `\`, "/"))):
			return Match
		default:
			return MatchIf(test(text))
		}
	})
}

// numberTest returns a test of numbers. Null is no match; other types, numeric strings
// included, are indeterminate.
func numberTest(test func(*big.Rat) bool) func(*call.Value) Verdict {
	return func(n *call.Value) Verdict {
		if n.Kind() == call.NullKind {
			return NoMatch
		}
		if number, ok := Number(n); ok {
			return MatchIf(test(number))
		}
		return Indeterminate
	}
}

// Number returns the exact value of a number. It rejects numbers of unreasonable size, because the
// digits of 1e999999999 would not fit in memory.
func Number(n *call.Value) (*big.Rat, bool) {
	literal := n.Literal()
	if n.Kind() != call.NumberKind || len(literal) > 400 {
		return nil, false
	}
	if _, exponent, found := strings.Cut(strings.ToLower(literal), "e"); found {
		if e, err := strconv.Atoi(exponent); err != nil || e > 400 || e < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(literal)
}

// equalTest returns a test for equality with a string or a boolean.
func equalTest(want *call.Value, fold bool) func(*call.Value) Verdict {
	return func(n *call.Value) Verdict {
		switch {
		case n.Kind() == call.NullKind:
			return NoMatch
		case n.Kind() != want.Kind():
			return Indeterminate
		case fold && n.Kind() == call.TextKind:
			return MatchIf(strings.EqualFold(n.Literal(), want.Literal()))
		default:
			return MatchIf(n.Literal() == want.Literal())
		}
	}
}

// containsTest returns a test for a part of a text. A broad one searches text of any length.
func containsTest(part string, s Strictness) func(*call.Value) Verdict {
	if s != Broad {
		return s.TextTest(func(text string) bool { return strings.Contains(text, part) })
	}
	part = strings.ToLower(part)
	return textTest(func(text string) Verdict { return MatchIf(strings.Contains(strings.ToLower(text), part)) })
}

// HasParentSegment reports whether a path in text has a ".." segment.
func HasParentSegment(text string) bool {
	steps := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("/\\ \t\"'=:,", r) })
	return slices.Contains(steps, "..")
}
