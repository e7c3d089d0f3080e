package policy

import (
	"encoding/json"
	"errors"
	"strings"
)

// jsonNode is a JSON value with its position. Objects keep duplicate members.
type jsonNode struct {
	offset  int64 // of the first byte in the text
	value   any   // nil, bool, string or json.Number; nil for objects and arrays
	kind    jsonKind
	members []jsonMember // of an object: in order, with duplicates
	items   []*jsonNode  // of an array
}

type jsonMember struct {
	name   string
	offset int64 // of the name
	value  *jsonNode
}

// jsonKind is the type of a value, as named in messages.
type jsonKind string

const (
	jsonObject jsonKind = "an object"
	jsonArray  jsonKind = "an array"
	jsonText   jsonKind = "a string"
	jsonNumber jsonKind = "a number"
	jsonBool   jsonKind = "a boolean"
	jsonNull   jsonKind = "null"
)

// maxDepth limits nesting. Deeper nesting is an attempt to overflow a parser's stack.
const maxDepth = 100

var errTooDeep = errors.New("the value is nested too deeply")

// jsonError is an error at a byte offset.
type jsonError struct {
	offset int64
	err    error
}

func (e *jsonError) Error() string { return e.err.Error() }

// parseJSON parses one JSON value. The error is a *jsonError.
func parseJSON(text []byte) (*jsonNode, error) {
	if json.Valid(text) {
		p := jsonParser{text: text}
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
	text []byte
	pos  int
}

// skipToToken skips separators and returns the first byte of the next token.
func (p *jsonParser) skipToToken() byte {
	for strings.IndexByte(" \t\r\n,:", p.text[p.pos]) >= 0 {
		p.pos++
	}
	return p.text[p.pos]
}

func (p *jsonParser) parseValue(depth int) (*jsonNode, error) {
	first := p.skipToToken()
	node := &jsonNode{offset: int64(p.pos)}
	switch first {
	case '{', '[':
		if depth == maxDepth {
			return nil, &jsonError{node.offset, errTooDeep}
		}
		p.pos++
		if first == '{' {
			node.kind = jsonObject
		} else {
			node.kind = jsonArray
		}
		return node, p.parseMembers(node, depth+1)
	case '"':
		node.kind, node.value = jsonText, p.parseString()
	case 't', 'f':
		node.kind, node.value = jsonBool, first == 't'
		p.pos += len("true")
		if first == 'f' {
			p.pos++
		}
	case 'n':
		node.kind = jsonNull
		p.pos += len("null")
	default:
		for p.pos < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.pos]) >= 0 {
			p.pos++
		}
		node.kind, node.value = jsonNumber, json.Number(p.text[node.offset:p.pos])
	}
	return node, nil
}

// parseMembers parses the rest of an object or an array.
func (p *jsonParser) parseMembers(node *jsonNode, depth int) error {
	for {
		if c := p.skipToToken(); c == '}' || c == ']' {
			p.pos++
			return nil
		}
		m := jsonMember{offset: int64(p.pos)}
		if node.kind == jsonObject {
			m.name = p.parseString()
		}
		var err error
		if m.value, err = p.parseValue(depth); err != nil {
			return err
		}
		if node.kind == jsonObject {
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
func (n *jsonNode) everyText(yield func(string) bool) bool {
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

// hasAmbiguousNames reports whether an object in the value has duplicate names, or names
// that differ only in case. Programs disagree on which member counts.
func (n *jsonNode) hasAmbiguousNames() bool {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		name := strings.ToLower(m.name)
		if seen[name] || m.value.hasAmbiguousNames() {
			return true
		}
		seen[name] = true
	}
	for _, item := range n.items {
		if item.hasAmbiguousNames() {
			return true
		}
	}
	return false
}
