package policy

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// glob is a pattern for a whole text. * matches any number of characters including /,
// ? matches one, and \ escapes the next character.
type glob struct {
	segments []globSegment // the parts between the stars
	fold     bool          // ignore case
}

// globSegment is the part of a pattern between two stars.
type globSegment []rune

// anyRune represents ? in a segment. No text contains this rune.
const anyRune rune = -1

func newGlob(pattern string, fold bool) glob {
	if fold {
		pattern = strings.ToLower(pattern)
	}
	g := glob{fold: fold, segments: []globSegment{nil}}
	last, escaped := 0, false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
			continue
		case r == '*':
			g.segments = append(g.segments, nil)
			last++
			continue
		case r == '?':
			r = anyRune
		}
		g.segments[last] = append(g.segments[last], r)
	}
	if escaped {
		g.segments[last] = append(g.segments[last], '\\')
	}
	return g
}

// isLiteral reports whether the pattern has neither * nor ?.
func (g glob) isLiteral() bool {
	return len(g.segments) == 1 && !slices.Contains(g.segments[0], anyRune)
}

func (g glob) match(text string) bool {
	if g.fold {
		text = strings.ToLower(text)
	}
	first, last := g.segments[0], g.segments[len(g.segments)-1]
	rest, ok := first.trimPrefix(text)
	if !ok || len(g.segments) == 1 {
		return ok && rest == ""
	}
	for _, p := range g.segments[1 : len(g.segments)-1] {
		if rest, ok = p.cutThrough(rest); !ok {
			return false
		}
	}
	return last.isSuffixOf(rest)
}

// trimPrefix removes a match of the segment from the start of text.
func (p globSegment) trimPrefix(text string) (rest string, ok bool) {
	for _, want := range p {
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 || want != anyRune && want != r {
			return "", false
		}
		text = text[size:]
	}
	return text, true
}

// cutThrough removes everything up to and including the first match of the segment.
func (p globSegment) cutThrough(text string) (rest string, ok bool) {
	if len(p) == 0 {
		return text, true
	}
	for {
		if p[0] != anyRune {
			i := strings.IndexRune(text, p[0])
			if i < 0 {
				return "", false
			}
			text = text[i:]
		}
		if rest, ok := p.trimPrefix(text); ok {
			return rest, true
		}
		_, size := utf8.DecodeRuneInString(text)
		if size == 0 {
			return "", false
		}
		text = text[size:]
	}
}

func (p globSegment) isSuffixOf(text string) bool {
	start := len(text)
	for range p {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		if size == 0 {
			return false
		}
		start -= size
	}
	_, ok := p.trimPrefix(text[start:])
	return ok
}
