package agentclient

import (
	"encoding/json"
	"errors"
	"strings"
)

// jsonNode is a JSON value that knows where it stands, and forgets no member.
type jsonNode struct {
	offset  int64 // its first byte in the text
	value   any   // nil, bool, string or json.Number; nil for the other two
	kind    jsonKind
	members []jsonMember // of an object: in order, with repeats
	items   []*jsonNode  // of an array
}

type jsonMember struct {
	name   string
	offset int64 // of its name
	value  *jsonNode
}

// jsonKind is a kind of value, as a message calls it.
type jsonKind string

const (
	jsonObject jsonKind = "an object"
	jsonArray  jsonKind = "a list"
	jsonText   jsonKind = "a text"
	jsonNumber jsonKind = "a number"
	jsonBool   jsonKind = "true or false"
	jsonNull   jsonKind = "null"
)

// maxDepth is how deep a value may be nested: what is deeper is made to overflow
// somebody's stack.
const maxDepth = 100

var errTooDeep = errors.New("it is nested too deeply")

// jsonError is a mistake in a text, at a byte.
type jsonError struct {
	offset int64
	err    error
}

func (e *jsonError) Error() string { return e.err.Error() }

// parseJSON reads one JSON value. Its error is a *jsonError.
func parseJSON(text []byte) (*jsonNode, error) {
	if json.Valid(text) {
		p := jsonParser{text: text}
		return p.parseValue(0)
	}
	err := json.Unmarshal(text, new(json.RawMessage)) // says where
	if syntaxErr := (*json.SyntaxError)(nil); errors.As(err, &syntaxErr) {
		if at := syntaxErr.Offset - 1; at >= 0 && syntaxErr.Offset < int64(len(text)) {
			return nil, &jsonError{at, err}
		}
		return nil, &jsonError{int64(len(text)), err}
	}
	return nil, &jsonError{0, err}
}

// jsonParser walks through a text that is valid JSON. The standard library's decoder
// keeps neither places nor members that are there twice.
type jsonParser struct {
	text []byte
	pos  int
}

// skipToToken is the byte that the next token begins with.
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

// parseMembers reads an object's or an array's rest.
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

// parseString reads a text.
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
		return "" // not in valid JSON
	}
	return text
}

// everyText calls yield with every text in the value, member names too, until it
// returns false.
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

// hasAmbiguousNames reports whether an object in the value has a name twice, or two that
// differ in case only: programs disagree on which of them counts.
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
