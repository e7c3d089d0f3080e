package risk

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/call"
)

const maxExcerpt = 160 // bytes

// text returns the text at a place of the arguments.
func (a *assessor) text(sp call.Span) string {
	text := a.strings[sp.Pointer]
	if sp.Pointer == call.LongPointer || sp.From < 0 || sp.To > len(text) || sp.From > sp.To {
		return ""
	}
	return text[sp.From:sp.To]
}

// through returns the place from the start of sp to the end of other.
func through(sp, other call.Span) call.Span {
	if sp.Pointer == other.Pointer && other.To >= sp.From {
		sp.To = other.To
	}
	return sp
}

// throughIfShort returns the place from the start of sp to the end of other, or only other if that is longer
// than an excerpt.
func throughIfShort(sp, other call.Span) call.Span {
	if joined := through(sp, other); joined.To-joined.From <= maxExcerpt {
		return joined
	}
	return other
}

// span returns the place of t.Text[from:to].
func span(t *call.Text, from, to int) call.Span {
	return call.Span{Pointer: t.Span.Pointer, From: t.Span.From + from, To: t.Span.From + to}
}

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

// lineEnd returns the length of the first line of s, without its line break.
func lineEnd(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// isAssignment reports whether a word has the form NAME=value or NAME+=value.
func isAssignment(w *call.Word) bool {
	name, _, ok := strings.Cut(w.Text, "=")
	if name = strings.TrimSuffix(name, "+"); !ok || name == "" || isDigit(name[0]) {
		return false
	}
	if at := strings.IndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		name = name[:at]
	}
	return strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 || r != '_' && !isLetter(byte(r)) && !isDigit(byte(r)) }) < 0
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
