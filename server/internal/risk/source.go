package risk

import "unicode/utf8"

// source is a text that is judged: a string of the arguments, or one that was
// written inside another, as a script is in sh -c '…'.
type source struct {
	text string
	at   string // JSON pointer; of an inner text, its outer's
	// outer is where an inner text was written. Where it stands there verbatim,
	// text[i] is outer.src.text[outer.from+i]; else (escapes were taken out) an
	// excerpt of it is all of outer.
	outer    span
	verbatim bool
}

// span is a part of a source.
type span struct {
	src      *source
	from, to int
}

func (x span) text() string { return x.src.text[x.from:x.to] }

// through is the span from the beginning of x to the end of y.
func (x span) through(y span) span {
	if x.src != y.src || y.to < x.from {
		return x
	}
	return span{x.src, x.from, y.to}
}

// within makes a source of text, which was written at x.
func (x span) within(text string) *source {
	inner := &source{text: text, at: x.src.at, outer: x}
	for _, quotes := range []int{0, 1} {
		if x.to-x.from == len(text)+2*quotes && x.src.text[x.from+quotes:x.to-quotes] == text {
			inner.outer = span{x.src, x.from + quotes, x.to - quotes}
			inner.verbatim = true
			break
		}
	}
	return inner
}

// excerpt is x as it stands in the arguments, of a length that is read at a glance.
func (x span) excerpt() (at, text string) {
	for x.src.outer.src != nil {
		o := x.src.outer
		if x.src.verbatim {
			o.from, o.to = o.from+x.from, o.from+x.to
		}
		x = o
	}
	if x.src.at == farAway {
		return "", ""
	}
	return x.src.at, clip(x.text())
}

// farAway is where a source stands whose pointer is too long to tell.
const farAway = "…"

// below is the pointer to a member of what stands at at.
func below(at, name string) string {
	if at == farAway || len(at)+len(name) > 512 {
		return farAway
	}
	return at + "/" + pointerEscape.Replace(name)
}

const maxExcerpt = 160

// clip cuts text at a rune's edge, and before what is no rune: a lone surrogate
// reads differently in a browser.
func clip(text string) string {
	end := 0
	for i, r := range text {
		n := utf8.RuneLen(r)
		if r == utf8.RuneError || i+n > maxExcerpt {
			return text[:end]
		}
		end = i + n
	}
	return text
}
