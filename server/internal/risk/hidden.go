package risk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	hiddenText = rule{"hidden_text", high, "It holds characters that can't be seen, or that turn the order of others around: it may not be what it looks like."}
	controls   = rule{"hidden_text", high, "It holds control characters, which can hide what stands before or behind them."}
	lookAlike  = rule{"look_alike", high, "It mixes letters of different alphabets that look the same: a name may not be the one it looks like."}
	farRight   = rule{"out_of_sight", high, "A long gap pushes the rest of it out of sight: read it to its end."}
	longLine   = rule{"out_of_sight", medium, "It has a very long line: read it to its end."}
)

const (
	wideGap   = 80 // blanks in a row within a line
	tallGap   = 12 // line breaks in a row
	longWidth = 2000
)

// hidden looks for what keeps a person from reading a text as it is.
func (j *judge) hidden(src *source) {
	s := src.text
	blanks, breaks, line := 0, 0, 0
	var w letters
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == '\n':
			breaks++
			if blanks, line = 0, i+1; breaks == tallGap && strings.TrimLeft(s[i:], " \t\r\n") != "" {
				j.add(farRight, behind(src, i))
			}
		case r == ' ' || r == '\t' || r == '\r' && strings.HasPrefix(s[i+1:], "\n") || r >= utf8.RuneSelf && unicode.IsSpace(r):
			if blanks++; blanks == wideGap && !isBlank(s[i:]) {
				j.add(farRight, behind(src, i))
			}
		default:
			blanks, breaks = 0, 0
			if i-line == longWidth {
				j.add(longLine, span{src, line, min(len(s), line+maxExcerpt)})
			}
			j.rune(src, i, r, n)
		}
		if r < utf8.RuneSelf && !isLetter(byte(r)) {
			j.mixed(span{src, w.from, i}, &w)
			w = letters{from: i + n}
		} else {
			w.letter(r)
		}
		i += n
	}
	j.mixed(span{src, w.from, len(s)}, &w)
}

// isBlank reports whether nothing more stands on the line. It looks no further
// than a little, so that it costs little.
func isBlank(s string) bool {
	s = s[:min(len(s), 4<<10)]
	return strings.TrimSpace(s[:lineEnd(s)]) == ""
}

// behind is what comes behind a gap that is noticed at i.
func behind(src *source, i int) span {
	rest := strings.TrimLeft(src.text[i:], " \t\r\n")
	from := len(src.text) - len(rest)
	return span{src, from, from + lineEnd(rest[:min(len(rest), maxExcerpt)])}
}

// maxUnseen is how many characters that can't be seen are noted of a call.
const maxUnseen = 1 << 10

func (j *judge) rune(src *source, i int, r rune, n int) {
	switch {
	case j.unseen == maxUnseen:
	case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
		j.unseen++
		j.add(controls, span{src, i, i + n})
	case isInvisible(r) && !joinsEmoji(src.text, i, n):
		j.unseen++
		j.add(hiddenText, span{src, i, i + n})
	}
}

func isInvisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x180e, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff:
		return true
	default:
		return false
	}
}

// joinsEmoji reports whether a zero-width joiner stands where emoji have one.
func joinsEmoji(s string, i, n int) bool {
	if s[i:i+n] != "\u200d" {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	behind, _ := utf8.DecodeRuneInString(s[i+n:])
	return (before >= 0x2190 || before == 0xfe0f) && behind >= 0x2190
}

// letters are the alphabets that a word is written in.
type letters struct {
	from         int
	latin, other bool
	wide         bool // full width, as in East Asian text
}

func (l *letters) letter(r rune) {
	switch {
	case r < utf8.RuneSelf || r >= 0xc0 && r < 0x250:
		l.latin = true
	case r >= 0x370 && r < 0x530:
		// Greek letters are units and variables too.
		l.other = l.other || !strings.ContainsRune("µμΩΔπλσεαβγδθτφ", r)
	case r >= 0xff21 && r <= 0xff5a:
		l.wide = true
	}
}

// mixed judges a word: Latin letters with Greek or Cyrillic ones among them are of
// no language.
func (j *judge) mixed(x span, l *letters) {
	if l.wide || l.latin && l.other {
		j.add(lookAlike, x)
	}
}
