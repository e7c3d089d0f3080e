package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scanOptions make jsontext accept what encoding/json accepts, with the same result. encoding/json makes two passes
// with a state machine step per byte, which dominates the cost of a hook on a tool output of a megabyte.
var scanOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Valid reports whether text is one JSON value.
func Valid(text []byte) bool { return jsontext.Value(text).IsValid(scanOptions...) }

// splitObject returns an object's members, which share memory with text. The last of several members with the
// same name wins. It returns false if text is no object or not valid.
func splitObject(text []byte) (map[string]json.RawMessage, bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), scanOptions...)
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, false
	}
	o := make(map[string]json.RawMessage, 16)
	for d.PeekKind() != '}' {
		raw, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		name := stringValue(raw)
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		end := int(d.InputOffset())
		o[name] = text[end-len(value) : end : end]
	}
	_, _ = d.ReadToken() // }
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, false
	}
	return o, true
}

// decodeObject decodes an object with a JSON error for any other text. Like json.Unmarshal, it
// returns nil for null.
func decodeObject(text []byte) (o map[string]json.RawMessage, err error) {
	o, ok := splitObject(text)
	if !ok {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// scanner reads a text that may be no valid JSON.
type scanner struct {
	text []byte
	pos  int
}

// splitOuter returns the members of an object without looking into them: a value is any text
// with complete strings and as many closing as opening brackets, however deep. Callers check
// each value with Valid. It returns false if the object itself does not end.
func splitOuter(text []byte) (map[string]json.RawMessage, bool) {
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
		name := stringValue(s.text[begin:s.pos])
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

// stringValue returns the value of a JSON string, or "" for anything else.
func stringValue(raw []byte) (value string) {
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

// pointerTo returns the JSON Pointer of a value in an object, or "" if it is not within
// that depth.
func pointerTo(container, value json.RawMessage, depth int) string {
	members, _ := splitObject(container)
	for name, member := range members {
		pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if bytes.Equal(member, value) {
			return pointer
		}
		if depth > 1 && len(member) > len(value) {
			if inner := pointerTo(member, value, depth-1); inner != "" {
				return pointer + inner
			}
		}
	}
	return ""
}
