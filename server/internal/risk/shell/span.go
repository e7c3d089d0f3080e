package shell

import (
	"strings"
	"unicode/utf8"
)

// Source is a text under assessment: a string of the arguments, or a text nested in another, such
// as the script in sh -c '…'.
type Source struct {
	Text    string
	Pointer string // JSON pointer to the string; a nested text has that of its outer text
	// outer is where a nested text was written. If verbatim is set, text[i] is
	// outer.src.text[outer.from+i]. Otherwise escapes were removed, and any excerpt is all of
	// outer.
	outer    Span
	verbatim bool
}

// Span is a range of a source.
type Span struct {
	Src      *Source
	From, To int
}

// Slice returns the span text[from:to] of s.
func (s *Source) Slice(from, to int) Span { return Span{s, from, to} }

// Whole returns the span of the whole text of s.
func (s *Source) Whole() Span { return Span{s, 0, len(s.Text)} }

// Text returns the bytes of the span.
func (sp Span) Text() string { return sp.Src.Text[sp.From:sp.To] }

// Through returns the span from the start of sp to the end of other.
func (sp Span) Through(other Span) Span {
	if sp.Src != other.Src || other.To < sp.From {
		return sp
	}
	return Span{sp.Src, sp.From, other.To}
}

// InnerSource returns a source for text, which was written at sp.
func (sp Span) InnerSource(text string) *Source {
	inner := &Source{Text: text, Pointer: sp.Src.Pointer, outer: sp}
	for _, quotes := range []int{0, 1} {
		if sp.To-sp.From == len(text)+2*quotes && sp.Src.Text[sp.From+quotes:sp.To-quotes] == text {
			inner.outer = Span{sp.Src, sp.From + quotes, sp.To - quotes}
			inner.verbatim = true
			break
		}
	}
	return inner
}

// Excerpt returns sp as it appears in the arguments: a JSON pointer and the text, truncated to
// MaxExcerpt.
func (sp Span) Excerpt() (at, text string) {
	for sp.Src.outer.Src != nil {
		o := sp.Src.outer
		if sp.Src.verbatim {
			o.From, o.To = o.From+sp.From, o.From+sp.To
		}
		sp = o
	}
	if sp.Src.Pointer == pointerTooLong {
		return "", ""
	}
	return sp.Src.Pointer, Truncate(sp.Text())
}

// pointerTooLong replaces a JSON pointer that is too long to report.
const pointerTooLong = "…"

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// ChildPointer returns the pointer to member name of the value at pointer at.
func ChildPointer(at, name string) string {
	if at == pointerTooLong || len(at)+len(name) > 512 {
		return pointerTooLong
	}
	return at + "/" + pointerEscape.Replace(name)
}

// MaxExcerpt is the maximum length of an excerpt, in bytes.
const MaxExcerpt = 160

// Truncate limits text to MaxExcerpt bytes at a rune boundary. It also ends the text before an
// invalid rune, because a browser decodes a lone surrogate differently.
func Truncate(text string) string {
	end := 0
	for i, r := range text {
		n := utf8.RuneLen(r)
		if r == utf8.RuneError || i+n > MaxExcerpt {
			return text[:end]
		}
		end = i + n
	}
	return text
}

// ThroughIfShort returns the span from the start of sp to the end of other, or only other if that is longer
// than an excerpt.
func (sp Span) ThroughIfShort(other Span) Span {
	if joined := sp.Through(other); joined.To-joined.From <= MaxExcerpt {
		return joined
	}
	return other
}
