// Package jsonscan validates and splits JSON objects in one pass.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"strings"
)

// scanner validates a JSON text and splits an object in one pass without copying.
// encoding/json makes two passes with a state machine step per byte, which dominates
// the cost of a hook on a tool output of a megabyte.
//
// Everything that it accepts, encoding/json accepts with the same result; a fuzz test
// compares them. Rejected texts go to encoding/json, which decides and reports the
// error.
type scanner struct {
	text []byte
	pos  int
}

// maxNesting is the nesting limit of encoding/json.
const maxNesting = 10_000

// Valid reports whether text is one JSON value.
func Valid(text []byte) bool {
	s := scanner{text: text}
	return s.scanValue(0) && s.atEnd() || json.Valid(text)
}

// SplitObject returns an object's members, which share memory with text. It returns
// false if text is no object or not certainly valid.
func SplitObject(text []byte) (map[string]json.RawMessage, bool) {
	s := scanner{text: text}
	if s.skipSpace(); !s.peekIs('{') {
		return nil, false
	}
	o := make(map[string]json.RawMessage, 16)
	if !s.scanObject(0, o) || !s.atEnd() {
		return nil, false
	}
	return o, true
}

// Decode decodes an object with a JSON error for any other text. Like json.Unmarshal, it
// returns nil for null.
func Decode(text []byte) (o map[string]json.RawMessage, err error) {
	o, ok := SplitObject(text)
	if !ok {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// SplitOuter returns the members of an object without looking into them: a value is any text
// with complete strings and as many closing as opening brackets, however deep. Callers check
// each value with Valid. It returns false if the object itself does not end.
func SplitOuter(text []byte) (map[string]json.RawMessage, bool) {
	s := scanner{text: text}
	o := map[string]json.RawMessage{}
	if !s.consume('{') {
		return nil, false
	}
	for !s.peekIs('}') {
		begin := s.pos
		if !s.peekIs('"') || !s.skipString() {
			return nil, false
		}
		name := String(s.text[begin:s.pos])
		if !s.consume(':') {
			return nil, false
		}
		begin = s.pos
		if !s.skipValue() {
			return nil, false
		}
		o[name] = bytes.TrimRight(s.text[begin:s.pos:s.pos], " \t\r\n")
		if !s.consume(',') && !s.peekIs('}') {
			return nil, false
		}
	}
	s.pos++
	return o, s.atEnd()
}

// skipValue moves to the comma or bracket that ends a member's value.
func (s *scanner) skipValue() bool {
	for depth := 0; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '"':
			if !s.skipString() {
				return false
			}
			s.pos--
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return true
			}
			depth--
		case ',':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// skipString moves behind a string, whatever characters it contains.
func (s *scanner) skipString() bool {
	for at := s.pos + 1; at < len(s.text); at++ {
		switch s.text[at] {
		case '\\':
			at++
		case '"':
			s.pos = at + 1
			return true
		}
	}
	return false
}

func (s *scanner) peekIs(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

func (s *scanner) skipSpace() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) atEnd() bool {
	s.skipSpace()
	return s.pos == len(s.text)
}

// consume skips c and the white space around it. It returns false if c isn't next.
func (s *scanner) consume(c byte) bool {
	if s.skipSpace(); !s.peekIs(c) {
		return false
	}
	s.pos++
	s.skipSpace()
	return true
}

func (s *scanner) scanValue(depth int) bool {
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

func (s *scanner) scanLiteral(w string) bool {
	if string(s.text[s.pos:min(len(s.text), s.pos+len(w))]) != w {
		return false
	}
	s.pos += len(w)
	return true
}

// scanObject reads an object and adds its members to o unless o is nil. The last of
// several members with the same name wins, as in encoding/json.
func (s *scanner) scanObject(depth int, o map[string]json.RawMessage) bool {
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
			o[String(name)] = s.text[begin:s.pos:s.pos]
		}
		if s.consume(',') {
			continue
		}
		return s.consumeClosing('}')
	}
}

func (s *scanner) scanArray(depth int) bool {
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

func (s *scanner) consumeClosing(c byte) bool {
	if !s.peekIs(c) {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) scanString() bool {
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

func (s *scanner) scanNumber() bool {
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

func (s *scanner) scanDigits() bool {
	begin := s.pos
	for s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > begin
}

// String returns the value of a JSON string, or "" for anything else.
func String(raw []byte) (value string) {
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

// PointerTo returns the JSON Pointer of a value in an object, or "" if it is not within
// that depth.
func PointerTo(container, value json.RawMessage, depth int) string {
	members, _ := SplitObject(container)
	for name, member := range members {
		pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if bytes.Equal(member, value) {
			return pointer
		}
		if depth > 1 && len(member) > len(value) {
			if inner := PointerTo(member, value, depth-1); inner != "" {
				return pointer + inner
			}
		}
	}
	return ""
}
