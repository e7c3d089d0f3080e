package risk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/call"
)

var (
	invisibleText     = rule{"hidden_text", high, "It contains invisible characters, or characters that change the text direction. It may differ from what you see."}
	controlCharacters = rule{"hidden_text", high, "It contains control characters, which can hide the text around them."}
	lookAlike         = rule{"look_alike", high, "It mixes look-alike letters of different alphabets. A name may not be the one you read."}
	pushedOutOfSight  = rule{"out_of_sight", high, "A long gap pushes the rest of it out of sight. Read it to the end."}
	longLine          = rule{"out_of_sight", medium, "It contains a very long line. Read it to the end."}
)

const (
	gapColumns   = 80 // consecutive blanks within a line
	gapLines     = 12 // consecutive line breaks
	maxLineWidth = 2000
)

// checkHiddenText adds findings for text that hides something from the reader: invisible or control
// characters, mixed alphabets, wide gaps and very long lines.
func (a *assessor) checkHiddenText(src *call.Text) {
	s := src.Text
	blanks, breaks, line := 0, 0, 0
	var w wordAlphabets
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == '\n':
			breaks++
			if blanks, line = 0, i+1; breaks == gapLines && strings.TrimLeft(s[i:], " \t\r\n") != "" {
				a.add(pushedOutOfSight, spanAfterGap(src, i))
			}
		case r == ' ' || r == '\t' || r == '\r' && strings.HasPrefix(s[i+1:], "\n") || r >= utf8.RuneSelf && unicode.IsSpace(r):
			if blanks++; blanks == gapColumns && !isBlank(s[i:]) {
				a.add(pushedOutOfSight, spanAfterGap(src, i))
			}
		default:
			blanks, breaks = 0, 0
			if i-line == maxLineWidth {
				a.add(longLine, span(src, line, min(len(s), line+maxExcerpt)))
			}
			a.checkRune(src, i, r, n)
		}
		if r < utf8.RuneSelf && !isLetter(byte(r)) {
			a.checkLookAlike(span(src, w.from, i), &w)
			w = wordAlphabets{from: i + n}
		} else {
			w.add(r)
		}
		i += n
	}
	a.checkLookAlike(span(src, w.from, len(s)), &w)
}

// isBlank reports whether the rest of the line is blank. It reads at most 4 KB to keep the cost per
// gap constant.
func isBlank(s string) bool {
	s = s[:min(len(s), 4<<10)]
	return strings.TrimSpace(s[:lineEnd(s)]) == ""
}

// spanAfterGap returns the text that follows the gap at i, up to the end of its line or the excerpt
// limit.
func spanAfterGap(src *call.Text, i int) call.Span {
	rest := strings.TrimLeft(src.Text[i:], " \t\r\n")
	from := len(src.Text) - len(rest)
	return span(src, from, from+lineEnd(rest[:min(len(rest), maxExcerpt)]))
}

// maxInvisible is the maximum number of invisible characters that are reported per call. It bounds
// the cost of text that consists of them.
const maxInvisible = 1 << 10

func (a *assessor) checkRune(src *call.Text, i int, r rune, n int) {
	switch {
	case a.invisibleRunes == maxInvisible:
	case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
		a.invisibleRunes++
		a.add(controlCharacters, span(src, i, i+n))
	case isInvisible(r) && !joinsEmoji(src.Text, i, n):
		a.invisibleRunes++
		a.add(invisibleText, span(src, i, i+n))
	}
}

func isInvisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4,
		r == 0x17b5, r == 0x180e, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
		r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
		return true
	default:
		return false
	}
}

// joinsEmoji reports whether the zero-width joiner at i connects two emoji.
func joinsEmoji(s string, i, n int) bool {
	if s[i:i+n] != "\u200d" {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	behind, _ := utf8.DecodeRuneInString(s[i+n:])
	return (before >= 0x2190 || before == 0xfe0f) && behind >= 0x2190
}

// wordAlphabets records which alphabets occur in one word.
type wordAlphabets struct {
	from            int
	latin, nonLatin bool
	fullWidth       bool // full-width forms, as in East Asian text
}

func (l *wordAlphabets) add(r rune) {
	switch {
	case r < utf8.RuneSelf || r >= 0xc0 && r < 0x250:
		l.latin = true
	case r >= 0x370 && r < 0x530:
		// Some Greek letters are common as units and variables.
		l.nonLatin = l.nonLatin || !strings.ContainsRune("µμΩΔπλσεαβγδθτφ", r)
	case r >= 0xff21 && r <= 0xff5a:
		l.fullWidth = true
	}
}

// checkLookAlike adds a finding if a word mixes Latin with Greek or Cyrillic letters, which no
// language does.
func (a *assessor) checkLookAlike(sp call.Span, l *wordAlphabets) {
	if l.fullWidth || l.latin && l.nonLatin {
		a.add(lookAlike, sp)
	}
}
