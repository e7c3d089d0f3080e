package hook

import (
	"encoding/json"
	"strings"
)

// jsonScanner validates a JSON text and splits an object in one pass without copying.
// encoding/json makes two passes with a state machine step per byte, which dominates
// the cost of a hook on a tool output of a megabyte.
//
// Everything that it accepts, encoding/json accepts with the same result; a fuzz test
// compares them. Rejected texts go to encoding/json, which decides and reports the
// error.
type jsonScanner struct {
	text []byte
	pos  int
}

// maxNesting is the nesting limit of encoding/json.
const maxNesting = 10_000

// Valid reports whether text is one JSON value.
func Valid(text []byte) bool {
	s := jsonScanner{text: text}
	return s.scanValue(0) && s.atEnd() || json.Valid(text)
}

// splitObject returns an object's members, which share memory with text. It returns
// false if text is no object or not certainly valid.
func splitObject(text []byte) (object, bool) {
	s := jsonScanner{text: text}
	if s.skipSpace(); !s.peekIs('{') {
		return nil, false
	}
	o := make(object, 16)
	if !s.scanObject(0, o) || !s.atEnd() {
		return nil, false
	}
	return o, true
}

// decode decodes an object. Like json.Unmarshal, it sets nil for null.
func (o *object) decode(text []byte) error {
	var ok bool
	if *o, ok = splitObject(text); ok {
		return nil
	}
	*o = nil
	return json.Unmarshal(text, o)
}

func (s *jsonScanner) peekIs(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

func (s *jsonScanner) skipSpace() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *jsonScanner) atEnd() bool {
	s.skipSpace()
	return s.pos == len(s.text)
}

// consume skips c and the white space around it. It returns false if c isn't next.
func (s *jsonScanner) consume(c byte) bool {
	if s.skipSpace(); !s.peekIs(c) {
		return false
	}
	s.pos++
	s.skipSpace()
	return true
}

func (s *jsonScanner) scanValue(depth int) bool {
	s.skipSpace()
	if s.pos == len(s.text) {
		return false
	}
	switch s.text[s.pos] {
	case '"':
		return s.scanString()
	case '{':
		return s.scanObject(depth, nil)
	case '[':
		return s.scanArray(depth)
	case 't':
		return s.scanLiteral("true")
	case 'f':
		return s.scanLiteral("false")
	case 'n':
		return s.scanLiteral("null")
	default:
		return s.scanNumber()
	}
}

func (s *jsonScanner) scanLiteral(w string) bool {
	if string(s.text[s.pos:min(len(s.text), s.pos+len(w))]) != w {
		return false
	}
	s.pos += len(w)
	return true
}

// scanObject reads an object and adds its members to o unless o is nil. The last of
// several members with the same name wins, as in encoding/json.
func (s *jsonScanner) scanObject(depth int, o object) bool {
	if depth++; depth > maxNesting || !s.consume('{') {
		return false
	}
	if s.peekIs('}') {
		s.pos++
		return true
	}
	for {
		begin := s.pos
		if !s.peekIs('"') || !s.scanString() {
			return false
		}
		name := s.text[begin:s.pos]
		if !s.consume(':') {
			return false
		}
		begin = s.pos
		if !s.scanValue(depth) {
			return false
		}
		if o != nil {
			o[text(name)] = s.text[begin:s.pos:s.pos]
		}
		if s.consume(',') {
			continue
		}
		return s.consumeClosing('}')
	}
}

func (s *jsonScanner) scanArray(depth int) bool {
	if depth++; depth > maxNesting || !s.consume('[') {
		return false
	}
	if s.peekIs(']') {
		s.pos++
		return true
	}
	for s.scanValue(depth) {
		if !s.consume(',') {
			return s.consumeClosing(']')
		}
	}
	return false
}

func (s *jsonScanner) consumeClosing(c byte) bool {
	if !s.peekIs(c) {
		return false
	}
	s.pos++
	return true
}

func (s *jsonScanner) scanString() bool {
	for at := s.pos + 1; at < len(s.text); at++ {
		switch c := s.text[at]; {
		case c == '"':
			s.pos = at + 1
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

func (s *jsonScanner) scanNumber() bool {
	if s.peekIs('-') {
		s.pos++
	}
	if s.peekIs('0') {
		s.pos++
	} else if !s.scanDigits() {
		return false
	}
	if s.peekIs('.') {
		s.pos++
		if !s.scanDigits() {
			return false
		}
	}
	if s.peekIs('e') || s.peekIs('E') {
		if s.pos++; s.peekIs('+') || s.peekIs('-') {
			s.pos++
		}
		return s.scanDigits()
	}
	return true
}

func (s *jsonScanner) scanDigits() bool {
	begin := s.pos
	for s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > begin
}

// text returns the value of a JSON string, or "" for anything else.
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
