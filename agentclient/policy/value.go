package policy

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
)

// Value is a JSON value with its position. Objects keep duplicate members.
type Value struct {
	offset  int64 // of the first byte in the text
	value   any   // nil, bool, string or json.Number; nil for objects and arrays
	kind    Kind
	members []member // of an object: in order, with duplicates
	items   []*Value // of an array
}

type member struct {
	name   string
	offset int64 // of the name
	value  *Value
}

// Kind is the type of a value, as named in messages.
type Kind string

// Kinds of values.
const (
	Object Kind = "an object"
	Array  Kind = "an array"
	Text   Kind = "a string"
	Number Kind = "a number"
	Bool   Kind = "a boolean"
	Null   Kind = "null"
)

// maxDepth limits nesting. Deeper nesting is an attempt to overflow a parser's stack.
const maxDepth = 100

// Kind returns the type of the value.
func (n *Value) Kind() Kind { return n.kind }

// Text returns the value of a string.
func (n *Value) Text() (text string, ok bool) {
	if n != nil {
		text, ok = n.value.(string)
	}
	return text, ok
}

// Items returns the values of an array.
func (n *Value) Items() []*Value { return n.items }

// Members returns the names and values of an object, in order.
func (n *Value) Members() iter.Seq2[string, *Value] {
	return func(yield func(string, *Value) bool) {
		for i := range n.members {
			if !yield(n.members[i].name, n.members[i].value) {
				return
			}
		}
	}
}

// At returns the value at a path of member names, or nil if there is none. It is not known if a value
// on the path is not an object.
func (n *Value) At(path ...string) (value *Value, known bool) {
	for _, name := range path {
		if n == nil || n.kind != Object {
			return nil, false
		}
		i := slices.IndexFunc(n.members, func(m member) bool { return m.name == name })
		if i < 0 {
			return nil, true
		}
		n = n.members[i].value
	}
	return n, true
}

var errTooDeep = errors.New("the value is nested too deeply")

// jsonError is an error at a byte offset.
type jsonError struct {
	offset int64
	err    error
}

func (e *jsonError) Error() string { return e.err.Error() }

// ParseValue parses one JSON value that nests at most maxDepth levels.
func ParseValue(text []byte, maxDepth int) (*Value, error) {
	if json.Valid(text) {
		p := jsonParser{text: text, maxDepth: maxDepth}
		return p.parseValue(0)
	}
	err := json.Unmarshal(text, new(json.RawMessage)) // returns the offset of the error
	if syntaxErr := (*json.SyntaxError)(nil); errors.As(err, &syntaxErr) {
		if at := syntaxErr.Offset - 1; at >= 0 && syntaxErr.Offset < int64(len(text)) {
			return nil, &jsonError{at, err}
		}
		return nil, &jsonError{int64(len(text)), err}
	}
	return nil, &jsonError{0, err}
}

// jsonParser parses text that is known to be valid JSON. The decoder of the standard
// library keeps neither positions nor duplicate members.
type jsonParser struct {
	text     []byte
	pos      int
	maxDepth int
}

// skipToToken skips separators and returns the first byte of the next token.
func (p *jsonParser) skipToToken() byte {
	for strings.IndexByte(" \t\r\n,:", p.text[p.pos]) >= 0 {
		p.pos++
	}
	return p.text[p.pos]
}

func (p *jsonParser) parseValue(depth int) (*Value, error) {
	first := p.skipToToken()
	node := &Value{offset: int64(p.pos)}
	switch first {
	case '{', '[':
		if depth == p.maxDepth {
			return nil, &jsonError{node.offset, errTooDeep}
		}
		p.pos++
		if first == '{' {
			node.kind = Object
		} else {
			node.kind = Array
		}
		return node, p.parseMembers(node, depth+1)
	case '"':
		node.kind, node.value = Text, p.parseString()
	case 't', 'f':
		node.kind, node.value = Bool, first == 't'
		p.pos += len("true")
		if first == 'f' {
			p.pos++
		}
	case 'n':
		node.kind = Null
		p.pos += len("null")
	default:
		for p.pos < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.pos]) >= 0 {
			p.pos++
		}
		node.kind, node.value = Number, json.Number(p.text[node.offset:p.pos])
	}
	return node, nil
}

// parseMembers parses the rest of an object or an array.
func (p *jsonParser) parseMembers(node *Value, depth int) error {
	for {
		if c := p.skipToToken(); c == '}' || c == ']' {
			p.pos++
			return nil
		}
		m := member{offset: int64(p.pos)}
		if node.kind == Object {
			m.name = p.parseString()
		}
		var err error
		if m.value, err = p.parseValue(depth); err != nil {
			return err
		}
		if node.kind == Object {
			node.members = append(node.members, m)
		} else {
			node.items = append(node.items, m.value)
		}
	}
}

func (p *jsonParser) parseString() string {
	begin := p.pos
	plain := true
	for p.pos++; p.text[p.pos] != '"'; p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '\\':
			plain = false
			p.pos++
		case c >= 0x80:
			plain = false
		}
	}
	p.pos++
	if plain {
		return string(p.text[begin+1 : p.pos-1])
	}
	var text string
	if json.Unmarshal(p.text[begin:p.pos], &text) != nil {
		return "" // impossible in valid JSON
	}
	return text
}

// everyText calls yield for every string in the value, member names included. It stops
// and returns false if yield returns false.
func (n *Value) everyText(yield func(string) bool) bool {
	if text, ok := n.value.(string); ok && !yield(text) {
		return false
	}
	for _, m := range n.members {
		if !yield(m.name) || !m.value.everyText(yield) {
			return false
		}
	}
	for _, item := range n.items {
		if !item.everyText(yield) {
			return false
		}
	}
	return true
}

// HasAmbiguousNames reports whether an object in the value has duplicate names, or names
// that differ only in case. Programs disagree on which member counts.
func (n *Value) HasAmbiguousNames() bool {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		name := strings.ToLower(m.name)
		if seen[name] || m.value.HasAmbiguousNames() {
			return true
		}
		seen[name] = true
	}
	for _, item := range n.items {
		if item.HasAmbiguousNames() {
			return true
		}
	}
	return false
}
