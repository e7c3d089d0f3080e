package filter

import (
	"bytes"
	"strings"
)

// probe is a run of ASCII letters that occurs, in upper or lower case, in the stored bytes of
// every matching event. Looking for it takes a tenth of the time of decoding the event.
type probe struct {
	letters string // lower case; empty: there is none
	rarest  int    // index of the letter that is rarest in text
}

// byRarity has the letters of English text and code, rarest first.
const byRarity = "qzjxkvwybghfumpdclosrnatie"

// generated is the text that a stored value can have without its letters: JavaScript's form of a huge
// number.
const generated = "infinity"

// minProbe is the length below which a probe would be in almost every event.
const minProbe = 3

// newProbe returns the longest probe in texts that all occur in every matching event.
func newProbe(literals []string) (p probe) {
	for _, literal := range literals {
		for _, run := range strings.FieldsFunc(literal, func(r rune) bool { return r < 'a' || r > 'z' }) {
			if len(run) >= minProbe && len(run) > len(p.letters) && !strings.Contains(generated, run) {
				p.letters = run
			}
		}
	}
	for i := range p.letters {
		if strings.IndexByte(byRarity, p.letters[i]) < strings.IndexByte(byRarity, p.letters[p.rarest]) {
			p.rarest = i
		}
	}
	return p
}

// mayMatch reports whether e has the probe, or letters that fold or decode to it.
func (p *probe) mayMatch(e *Event) bool {
	if p.letters == "" {
		return true
	}
	for _, name := range [...]string{e.App, e.Session, e.Type, e.Tool} {
		if p.mayBeIn([]byte(name)) {
			return true
		}
	}
	return p.mayBeIn(e.Payload) || p.mayBeIn(e.Envelope) || p.mayBeIn(e.Question)
}

func (p *probe) mayBeIn(text []byte) bool {
	if len(text) < len(p.letters) {
		return false
	}
	letter := p.letters[p.rarest]
	return p.isAt(text, letter) || p.isAt(text, letter-'a'+'A') || hasEscapedLetter(text) ||
		bytes.Contains(text, []byte("ſ")) || bytes.Contains(text, []byte("\u212a")) || bytes.Contains(text, []byte("İ"))
}

// isAt reports whether the probe is around one of the occurrences of letter.
func (p *probe) isAt(text []byte, letter byte) bool {
	for start := 0; ; {
		i := bytes.IndexByte(text[start:], letter)
		if i < 0 {
			return false
		}
		start += i + 1
		from := start - 1 - p.rarest
		if from >= 0 && from+len(p.letters) <= len(text) && equalFoldASCII(text[from:from+len(p.letters)], p.letters) {
			return true
		}
	}
}

func equalFoldASCII(text []byte, lower string) bool {
	for i, c := range text {
		if c|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// hasEscapedLetter reports whether a JSON text may have an escape of an ASCII letter or of a
// letter that folds to one.
func hasEscapedLetter(text []byte) bool {
	for {
		i := bytes.Index(text, []byte(`\u`))
		if i < 0 {
			return false
		}
		if text = text[i+2:]; len(text) < 4 {
			return false
		}
		switch first, second := text[0], text[1]; {
		case first == '0' && second == '0' && text[2] >= '4' && text[2] <= '7',
			first == '0' && second == '1' && (text[2] == '7' || text[2] == '3'),
			first == '2' && second == '1':
			return true
		}
	}
}
