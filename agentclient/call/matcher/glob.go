package matcher

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Glob is a pattern for a whole text. * matches any number of characters including /,
// ? matches one, and \ escapes the next character.
type Glob struct {
	pattern []rune
	fold    bool // ignore case
}

// anyRune and anyText represent ? and * in a Glob. No text contains these runes.
const anyRune, anyText rune = -1, -2

// NewGlob returns a pattern. With fold, case does not count.
func NewGlob(pattern string, fold bool) Glob {
	if fold {
		pattern = strings.ToLower(pattern)
	}
	g := Glob{fold: fold}
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
			continue
		case r == '*':
			r = anyText
		case r == '?':
			r = anyRune
		}
		g.pattern = append(g.pattern, r)
	}
	if escaped {
		g.pattern = append(g.pattern, '\\')
	}
	return g
}

// IsLiteral reports whether the pattern has neither * nor ?.
func (g Glob) IsLiteral() bool {
	return !slices.Contains(g.pattern, anyRune) && !slices.Contains(g.pattern, anyText)
}

// Match reports whether the pattern matches the whole text.
func (g Glob) Match(text string) bool {
	if g.fold {
		text = strings.ToLower(text)
	}
	at, star, restart := 0, -1, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case at < len(g.pattern) && g.pattern[at] == anyText:
			star, at = at, at+1
			restart = g.skipTo(text, i, at) // the star takes no more at first
			i = restart
		case at < len(g.pattern) && (g.pattern[at] == anyRune || g.pattern[at] == r):
			at, i = at+1, i+size
		case star >= 0: // and then more if the rest does not match
			_, size = utf8.DecodeRuneInString(text[restart:])
			at = star + 1
			restart = g.skipTo(text, restart+size, at)
			i = restart
		default:
			return false
		}
	}
	return !slices.ContainsFunc(g.pattern[at:], func(r rune) bool { return r != anyText })
}

// skipTo returns the first offset at or after from where the pattern may continue at a position.
func (g Glob) skipTo(text string, from, at int) int {
	if at == len(g.pattern) {
		return len(text)
	}
	if g.pattern[at] < 0 {
		return from
	}
	if n := strings.IndexRune(text[from:], g.pattern[at]); n >= 0 {
		return from + n
	}
	return len(text)
}

// class matches a class of characters in a pattern of a shell.
var class = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[!^]?\]?[^\]]*\]`) })

// maxMeet bounds the product of the lengths of two patterns that are compared.
const maxMeet = 1 << 20

// GlobsMeet reports whether a pattern of a rule matches a path that a shell may put in place of another one,
// whose stars match neither / nor a dot that begins a name. It ignores case.
func GlobsMeet(rule, shell string) bool {
	a, b := NewGlob(rule, true).pattern, NewGlob(class().ReplaceAllString(shell, "?"), true).pattern
	if len(a)*len(b) > maxMeet {
		return true
	}
	below, row := make([]bool, len(b)+1), make([]bool, len(b)+1) // whether the rests from i+1 or i, and from j meet
	for i := len(a); i >= 0; i-- {
		for j := len(b); j >= 0; j-- {
			takes := i < len(a) && j < len(b) && a[i] != '/' && (a[i] != '.' || j > 0 && b[j-1] != '/')
			switch {
			case i < len(a) && a[i] == anyText:
				row[j] = below[j] || j < len(b) && row[j+1]
			case j == len(b):
				row[j] = i == len(a)
			case b[j] == anyText:
				row[j] = row[j+1] || takes && below[j]
			case i == len(a):
				row[j] = false
			default:
				row[j] = (a[i] == b[j] || a[i] == anyRune || b[j] == anyRune && takes) && below[j+1]
			}
		}
		below, row = row, below
	}
	return below[0]
}
