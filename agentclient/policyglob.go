package agentclient

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// glob is a pattern for a whole text: * is any number of characters, / among them,
// ? is one, and \ takes the next one as it is.
type glob struct {
	pieces []globPiece // between the stars; none of them is a match for anything
	fold   bool        // without regard to case
}

// globPiece is what stands between two stars.
type globPiece []rune

// anyOne stands for ? in a piece: no text has this rune.
const anyOne rune = -1

func newGlob(pattern string, fold bool) glob {
	if fold {
		pattern = strings.ToLower(pattern)
	}
	g := glob{fold: fold, pieces: []globPiece{nil}}
	last, escaped := 0, false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
			continue
		case r == '*':
			g.pieces = append(g.pieces, nil)
			last++
			continue
		case r == '?':
			r = anyOne
		}
		g.pieces[last] = append(g.pieces[last], r)
	}
	if escaped {
		g.pieces[last] = append(g.pieces[last], '\\')
	}
	return g
}

// literal reports whether the pattern has no * and no ?.
func (g glob) literal() bool {
	return len(g.pieces) == 1 && !slices.Contains(g.pieces[0], anyOne)
}

func (g glob) match(text string) bool {
	if g.fold {
		text = strings.ToLower(text)
	}
	first, last := g.pieces[0], g.pieces[len(g.pieces)-1]
	rest, ok := first.prefix(text)
	if !ok || len(g.pieces) == 1 {
		return ok && rest == ""
	}
	for _, p := range g.pieces[1 : len(g.pieces)-1] {
		if rest, ok = p.cut(rest); !ok {
			return false
		}
	}
	return last.suffix(rest)
}

// prefix takes the piece off the text's beginning.
func (p globPiece) prefix(text string) (rest string, ok bool) {
	for _, want := range p {
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 || want != anyOne && want != r {
			return "", false
		}
		text = text[size:]
	}
	return text, true
}

// cut takes everything up to the first place of the piece, and it, off the text.
func (p globPiece) cut(text string) (rest string, ok bool) {
	if len(p) == 0 {
		return text, true
	}
	for {
		if p[0] != anyOne {
			i := strings.IndexRune(text, p[0])
			if i < 0 {
				return "", false
			}
			text = text[i:]
		}
		if rest, ok := p.prefix(text); ok {
			return rest, true
		}
		_, size := utf8.DecodeRuneInString(text)
		if size == 0 {
			return "", false
		}
		text = text[size:]
	}
}

func (p globPiece) suffix(text string) bool {
	at := len(text)
	for range p {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		if size == 0 {
			return false
		}
		at -= size
	}
	_, ok := p.prefix(text[at:])
	return ok
}
