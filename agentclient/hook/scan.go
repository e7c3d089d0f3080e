package hook

import (
	"encoding/json"
	"strings"
)

// scan goes over a JSON text once: it proves it valid, and takes an object apart
// without a copy. encoding/json goes over each text twice, one state machine's step
// for each byte: at the output of a tool, a megabyte, that is most of what a hook costs.
//
// What it takes, encoding/json takes too, with the same result (FuzzScan). What it
// doesn't take is for encoding/json to decide, and to name the mistake.
type scan struct {
	text []byte
	at   int
}

// maxNesting is as deep as encoding/json goes.
const maxNesting = 10_000

// Valid reports whether text is one JSON value.
func Valid(text []byte) bool {
	s := scan{text: text}
	return s.value(0) && s.end() || json.Valid(text)
}

// split gives an object's members, which share the text's memory. false: it is no
// object, or not certainly valid.
func split(text []byte) (object, bool) {
	s := scan{text: text}
	if s.space(); !s.is('{') {
		return nil, false
	}
	o := make(object, 16)
	if !s.members(0, o) || !s.end() {
		return nil, false
	}
	return o, true
}

// decode reads an object. Like json.Unmarshal it leaves nil for null.
func (o *object) decode(text []byte) error {
	var ok bool
	if *o, ok = split(text); ok {
		return nil
	}
	*o = nil
	return json.Unmarshal(text, o)
}

func (s *scan) is(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

func (s *scan) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scan) end() bool {
	s.space()
	return s.at == len(s.text)
}

// take steps over c, and the space before and behind it.
func (s *scan) take(c byte) bool {
	if s.space(); !s.is(c) {
		return false
	}
	s.at++
	s.space()
	return true
}

func (s *scan) value(depth int) bool {
	s.space()
	if s.at == len(s.text) {
		return false
	}
	switch s.text[s.at] {
	case '"':
		return s.string()
	case '{':
		return s.members(depth, nil)
	case '[':
		return s.items(depth)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

func (s *scan) word(w string) bool {
	if string(s.text[s.at:min(len(s.text), s.at+len(w))]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// members reads an object, into o where that is not nil. Of members with the same
// name the last one counts.
func (s *scan) members(depth int, o object) bool {
	if depth++; depth > maxNesting || !s.take('{') {
		return false
	}
	if s.is('}') {
		s.at++
		return true
	}
	for {
		begin := s.at
		if !s.is('"') || !s.string() {
			return false
		}
		name := s.text[begin:s.at]
		if !s.take(':') {
			return false
		}
		begin = s.at
		if !s.value(depth) {
			return false
		}
		if o != nil {
			o[text(name)] = s.text[begin:s.at:s.at]
		}
		if s.take(',') {
			continue
		}
		return s.close('}')
	}
}

func (s *scan) items(depth int) bool {
	if depth++; depth > maxNesting || !s.take('[') {
		return false
	}
	if s.is(']') {
		s.at++
		return true
	}
	for s.value(depth) {
		if !s.take(',') {
			return s.close(']')
		}
	}
	return false
}

func (s *scan) close(c byte) bool {
	if !s.is(c) {
		return false
	}
	s.at++
	return true
}

func (s *scan) string() bool {
	for at := s.at + 1; at < len(s.text); at++ {
		switch c := s.text[at]; {
		case c == '"':
			s.at = at + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			if at++; at == len(s.text) {
				return false
			}
			switch s.text[at] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if at++; at >= len(s.text) || !strings.ContainsRune("0123456789abcdefABCDEF", rune(s.text[at])) {
						return false
					}
				}
			default:
				return false
			}
		}
	}
	return false
}

func (s *scan) number() bool {
	if s.is('-') {
		s.at++
	}
	if s.is('0') {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.is('.') {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if s.is('e') || s.is('E') {
		if s.at++; s.is('+') || s.is('-') {
			s.at++
		}
		return s.digits()
	}
	return true
}

func (s *scan) digits() bool {
	begin := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > begin
}

// text is a JSON string's value; of anything else "".
func text(raw []byte) (value string) {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c == '\\' || c >= 0x80 || c < ' ' {
			_ = json.Unmarshal(raw, &value)
			return value
		}
	}
	return string(raw[1 : len(raw)-1])
}
