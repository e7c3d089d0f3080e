package agentclient

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// glob is a pattern for a whole text: * is any number of characters, / among them,
// ? is one, and \ takes the next one as it is.
type glob struct {
	segments []globSegment // between the stars; none of them is a match for anything
	fold     bool          // without regard to case
}

// globSegment is what stands between two stars.
type globSegment []rune

// anyRune stands for ? in a piece: no text has this rune.
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

// isLiteral reports whether the pattern has no * and no ?.
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

// trimPrefix takes the piece off the text's beginning.
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

// cutThrough takes everything up to the first place of the piece, and it, off the text.
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
