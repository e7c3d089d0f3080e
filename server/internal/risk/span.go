package risk

import "unicode/utf8"

// source is a text that is judged: a string of the arguments, or one that was
// written inside another, as a script is in sh -c '…'.
type source struct {
	text    string
	pointer string // JSON pointer; of an inner text, its outer's
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

func (sp span) text() string { return sp.src.text[sp.from:sp.to] }

// through is the span from the beginning of x to the end of y.
func (sp span) through(y span) span {
	if sp.src != y.src || y.to < sp.from {
		return sp
	}
	return span{sp.src, sp.from, y.to}
}

// innerSource makes a source of text, which was written at x.
func (sp span) innerSource(text string) *source {
	inner := &source{text: text, pointer: sp.src.pointer, outer: sp}
	for _, quotes := range []int{0, 1} {
		if sp.to-sp.from == len(text)+2*quotes && sp.src.text[sp.from+quotes:sp.to-quotes] == text {
			inner.outer = span{sp.src, sp.from + quotes, sp.to - quotes}
			inner.verbatim = true
			break
		}
	}
	return inner
}

// excerpt is x as it stands in the arguments, of a length that is read at a glance.
func (sp span) excerpt() (at, text string) {
	for sp.src.outer.src != nil {
		o := sp.src.outer
		if sp.src.verbatim {
			o.from, o.to = o.from+sp.from, o.from+sp.to
		}
		sp = o
	}
	if sp.src.pointer == pointerTooLong {
		return "", ""
	}
	return sp.src.pointer, truncate(sp.text())
}

// pointerTooLong is where a source stands whose pointer is too long to tell.
const pointerTooLong = "…"

// childPointer is the pointer to a member of what stands at at.
func childPointer(at, name string) string {
	if at == pointerTooLong || len(at)+len(name) > 512 {
		return pointerTooLong
	}
	return at + "/" + pointerEscape.Replace(name)
}

const maxExcerpt = 160

// truncate cuts text at a rune's edge, and before what is no rune: a lone surrogate
// reads differently in a browser.
func truncate(text string) string {
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
