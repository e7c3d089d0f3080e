package agentclient

import (
	"encoding/json"
	"errors"
	"strings"
)

// jsonNode is a JSON value that knows where it stands, and forgets no member.
type jsonNode struct {
	at      int64 // its first byte in the text
	value   any   // nil, bool, string or json.Number; nil for the other two
	kind    jsonKind
	members []jsonMember // of an object: in order, with repeats
	items   []*jsonNode  // of an array
}

type jsonMember struct {
	name  string
	at    int64 // of its name
	value *jsonNode
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
	at  int64
	err error
}

func (e *jsonError) Error() string { return e.err.Error() }

// parseJSON reads one JSON value. Its error is a *jsonError.
func parseJSON(text []byte) (*jsonNode, error) {
	if json.Valid(text) {
		p := jsonParser{text: text}
		return p.value(0)
	}
	err := json.Unmarshal(text, new(json.RawMessage)) // says where
	if wrong := (*json.SyntaxError)(nil); errors.As(err, &wrong) {
		if at := wrong.Offset - 1; at >= 0 && wrong.Offset < int64(len(text)) {
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
	at   int
}

// next is the byte that the next token begins with.
func (p *jsonParser) next() byte {
	for strings.IndexByte(" \t\r\n,:", p.text[p.at]) >= 0 {
		p.at++
	}
	return p.text[p.at]
}

func (p *jsonParser) value(depth int) (*jsonNode, error) {
	first := p.next()
	node := &jsonNode{at: int64(p.at)}
	switch first {
	case '{', '[':
		if depth == maxDepth {
			return nil, &jsonError{node.at, errTooDeep}
		}
		p.at++
		if first == '{' {
			node.kind = jsonObject
		} else {
			node.kind = jsonArray
		}
		return node, p.inside(node, depth+1)
	case '"':
		node.kind, node.value = jsonText, p.string()
	case 't', 'f':
		node.kind, node.value = jsonBool, first == 't'
		p.at += len("true")
		if first == 'f' {
			p.at++
		}
	case 'n':
		node.kind = jsonNull
		p.at += len("null")
	default:
		for p.at < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.at]) >= 0 {
			p.at++
		}
		node.kind, node.value = jsonNumber, json.Number(p.text[node.at:p.at])
	}
	return node, nil
}

// inside reads an object's or an array's rest.
func (p *jsonParser) inside(node *jsonNode, depth int) error {
	for {
		if c := p.next(); c == '}' || c == ']' {
			p.at++
			return nil
		}
		m := jsonMember{at: int64(p.at)}
		if node.kind == jsonObject {
			m.name = p.string()
		}
		var err error
		if m.value, err = p.value(depth); err != nil {
			return err
		}
		if node.kind == jsonObject {
			node.members = append(node.members, m)
		} else {
			node.items = append(node.items, m.value)
		}
	}
}

// string reads a text.
func (p *jsonParser) string() string {
	begin := p.at
	plain := true
	for p.at++; p.text[p.at] != '"'; p.at++ {
		switch c := p.text[p.at]; {
		case c == '\\':
			plain = false
			p.at++
		case c >= 0x80:
			plain = false
		}
	}
	p.at++
	if plain {
		return string(p.text[begin+1 : p.at-1])
	}
	var text string
	if json.Unmarshal(p.text[begin:p.at], &text) != nil {
		return "" // not in valid JSON
	}
	return text
}

// texts calls yield with every text in the value, member names too, until it
// returns false.
func (n *jsonNode) texts(yield func(string) bool) bool {
	if text, ok := n.value.(string); ok && !yield(text) {
		return false
	}
	for _, m := range n.members {
		if !yield(m.name) || !m.value.texts(yield) {
			return false
		}
	}
	for _, item := range n.items {
		if !item.texts(yield) {
			return false
		}
	}
	return true
}

// ambiguous reports whether an object in the value has a name twice, or two that
// differ in case only: programs disagree on which of them counts.
func (n *jsonNode) ambiguous() bool {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		name := strings.ToLower(m.name)
		if seen[name] || m.value.ambiguous() {
			return true
		}
		seen[name] = true
	}
	for _, item := range n.items {
		if item.ambiguous() {
			return true
		}
	}
	return false
}
