package filter

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// The characters that JavaScript's \s matches and does not match, for use inside a class.
const (
	jsSpace         = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	jsNotSpace      = `\x{0}-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	anyRune         = `\x{0}-\x{10ffff}`
	lineTerminators = `\n\r\x{2028}\x{2029}`
)

// compileRegex translates a JavaScript regular expression with the flags i and u to RE2. It
// returns an error if RE2 has no equivalent. literals occur in every text that the expression
// matches. size is the number of RE2 instructions, an upper bound on the steps per character.
func compileRegex(pattern string) (regex *regexp.Regexp, literals []string, size int, err error) {
	t := regexTranslator{rest: pattern}
	for t.rest != "" && t.err == nil {
		t.step()
	}
	if t.err != nil {
		return nil, nil, 0, t.err
	}
	tree, err := syntax.Parse(t.out.String(), syntax.Perl|syntax.FoldCase)
	if err == nil {
		foldLiterals(tree)
		size, err = programSize(tree)
	}
	if err == nil {
		regex, err = regexp.Compile(tree.String())
	}
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		return nil, nil, 0, fmt.Errorf("%s: %s", e.Code, e.Expr)
	}
	return regex, requiredLiterals(tree), size, err
}

func programSize(tree *syntax.Regexp) (int, error) {
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// foldLiterals replaces the literals by their folded form, which RE2 finds faster than both
// cases.
func foldLiterals(tree *syntax.Regexp) {
	for _, sub := range tree.Sub {
		foldLiterals(sub)
	}
	if tree.Op != syntax.OpLiteral {
		return
	}
	plain := make([]rune, len(tree.Rune))
	for i, r := range tree.Rune {
		var one bool
		if plain[i], one = foldedForm(r); !one {
			return
		}
	}
	tree.Rune, tree.Flags = plain, tree.Flags&^syntax.FoldCase
}

// foldedForm returns the folded form of a letter, or false if there are several, as for θ and ϑ.
func foldedForm(r rune) (form rune, unique bool) {
	forms := 0
	for next := unicode.SimpleFold(r); ; next = unicode.SimpleFold(next) {
		if Fold(string(next)) == string(next) {
			form = next
			forms++
		}
		if next == r {
			return form, forms == 1
		}
	}
}

// requiredLiterals returns literals that occur in everything that the expression matches.
func requiredLiterals(tree *syntax.Regexp) (list []string) {
	switch {
	case tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0:
		return []string{string(tree.Rune)}
	case tree.Op == syntax.OpConcat, tree.Op == syntax.OpCapture, tree.Op == syntax.OpPlus, tree.Op == syntax.OpRepeat && tree.Min > 0:
		for _, sub := range tree.Sub {
			list = append(list, requiredLiterals(sub)...)
		}
	}
	return list
}

// regexTranslator rewrites syntax that has another meaning in RE2 than in JavaScript.
type regexTranslator struct {
	rest    string
	out     strings.Builder
	inClass bool
	err     error
}

func (t *regexTranslator) take(n int) string {
	piece := t.rest[:n]
	t.rest = t.rest[n:]
	return piece
}

func (t *regexTranslator) step() {
	switch c := t.rest[0]; {
	case c == '\\':
		t.escape()
	case t.inClass && c == ']':
		t.inClass = false
		t.out.WriteString(t.take(1))
	case t.inClass && c == '[': // in RE2, [[:alpha:]] is a named class
		t.out.WriteString(`\[`)
		t.take(1)
	case t.inClass:
		t.out.WriteString(t.take(1))
	case c == '[':
		t.charClass()
	case c == '.':
		t.out.WriteString("[^" + lineTerminators + "]")
		t.take(1)
	case strings.HasPrefix(t.rest, "(?") && !strings.HasPrefix(t.rest, "(?:") && !strings.HasPrefix(t.rest, "(?<"):
		t.err = errors.New("look-ahead and inline flags are not supported")
	default:
		t.out.WriteString(t.take(1))
	}
}

func (t *regexTranslator) charClass() {
	for _, c := range [...]struct{ js, re2 string }{{"[^]", "[" + anyRune + "]"}, {"[]", "[^" + anyRune + "]"}} {
		if strings.HasPrefix(t.rest, c.js) {
			t.out.WriteString(c.re2)
			t.take(len(c.js))
			return
		}
	}
	t.inClass = true
	t.out.WriteString(t.take(1))
	if strings.HasPrefix(t.rest, "^") {
		t.out.WriteString(t.take(1))
	}
}

func (t *regexTranslator) escape() {
	if len(t.rest) < 2 {
		t.err = errors.New("trailing backslash")
		return
	}
	switch c := t.rest[1]; c {
	case 's', 'S':
		set := map[byte]string{'s': jsSpace, 'S': jsNotSpace}[c]
		if !t.inClass {
			set = "[" + set + "]"
		}
		t.out.WriteString(set)
		t.take(2)
	case 'u':
		t.unicodeEscape()
	case 'b':
		if t.inClass {
			t.out.WriteString(`\x08`)
			t.take(2)
			return
		}
		t.out.WriteString(t.take(2))
	case 'A', 'z', 'Q', 'E', 'C', 'a':
		t.err = fmt.Errorf(`\%c is not known`, c)
	default:
		t.out.WriteString(t.take(2))
	}
}

// unicodeEscape rewrites \uXXXX and \u{X}.
func (t *regexTranslator) unicodeEscape() {
	digits, length := "", 6
	if end := strings.IndexByte(t.rest, '}'); strings.HasPrefix(t.rest, `\u{`) && end > 0 {
		digits, length = t.rest[3:end], end+1
	} else if len(t.rest) >= length {
		digits = t.rest[2:length]
	}
	if digits == "" || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
		t.err = errors.New(`\u without a number`)
		return
	}
	t.out.WriteString(`\x{` + digits + `}`)
	t.take(length)
}
