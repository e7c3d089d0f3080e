package risk

import "unicode/utf8"

// source is a text under assessment: a string of the arguments, or a text nested in another, such
// as the script in sh -c '…'.
type source struct {
	text    string
	pointer string // JSON pointer to the string; a nested text has that of its outer text
	// outer is where a nested text was written. If verbatim is set, text[i] is
	// outer.src.text[outer.from+i]. Otherwise escapes were removed, and any excerpt is all of
	// outer.
	outer    span
	verbatim bool
}

// span is a range of a source.
type span struct {
	src      *source
	from, to int
}

func (sp span) text() string { return sp.src.text[sp.from:sp.to] }

// through returns the span from the start of sp to the end of other.
func (sp span) through(other span) span {
	if sp.src != other.src || other.to < sp.from {
		return sp
	}
	return span{sp.src, sp.from, other.to}
}

// innerSource returns a source for text, which was written at sp.
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

// excerpt returns sp as it appears in the arguments: a JSON pointer and the text, truncated to
// maxExcerpt.
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

// pointerTooLong replaces a JSON pointer that is too long to report.
const pointerTooLong = "…"

// childPointer returns the pointer to member name of the value at pointer at.
func childPointer(at, name string) string {
	if at == pointerTooLong || len(at)+len(name) > 512 {
		return pointerTooLong
	}
	return at + "/" + pointerEscape.Replace(name)
}

const maxExcerpt = 160

// truncate limits text to maxExcerpt bytes at a rune boundary. It also ends the text before an
// invalid rune, because a browser decodes a lone surrogate differently.
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
