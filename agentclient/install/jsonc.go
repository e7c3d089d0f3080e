package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where a settings file can't be read. Such a file is left alone:
// its agent may read it otherwise than we would.
type SyntaxError struct {
	Line, Column int // from 1, in characters
	Problem      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// maxDepth bounds how deep values may be nested.
const maxDepth = 200

// The kinds of a node.
const (
	kindObject  = '{'
	kindArray   = '['
	kindString  = '"'
	kindLiteral = '0' // a number, true, false or null
)

// node is a value in a text, with its place there.
type node struct {
	kind       byte
	start, end int // text[start:end] is the value
	members    []member
}

// member is one entry of an object or an array.
type member struct {
	key   string // decoded; "" in an array
	start int    // of the key, or of the value in an array
	value *node
	comma int // place of the comma behind it, -1: none
}

// index is the index of the member of that name, or of that number in an array;
// -1 when there is none.
func (n *node) index(key string) int {
	if n.kind == kindArray {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.members) {
			return i
		}
		return -1
	}
	for i := range n.members {
		if n.members[i].key == key {
			return i
		}
	}
	return -1
}

// lookup is the value that a path of keys leads to, or nil.
func (n *node) lookup(path ...string) *node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		i := n.index(key)
		if i < 0 {
			return nil
		}
		n = n.members[i].value
	}
	return n
}

// parser reads JSON as the agents' own readers do: // and /* */ are comments, and a
// comma may stand behind the last entry.
type parser struct {
	text string
	pos  int
}

// parse reads the whole text, which must be an object.
func parse(content string) (*node, error) {
	p := &parser{text: content}
	if at := invalidUTF8Index(content); at >= 0 {
		return nil, p.errorAt(at, "this is not UTF-8")
	}
	p.pos = len(content) - len(strings.TrimPrefix(content, "\ufeff"))
	if err := p.skipSpace(); err != nil {
		return nil, err
	}
	if p.pos == len(content) {
		return nil, p.errorAt(p.pos, "there is nothing in the file; delete it, or write {} into it")
	}
	n, err := p.parseValue(0)
	if err != nil {
		return nil, err
	}
	if n.kind != kindObject {
		return nil, p.errorAt(n.start, "the settings must be an object")
	}
	if err := p.skipSpace(); err != nil {
		return nil, err
	}
	if p.pos < len(content) {
		return nil, p.errorAt(p.pos, "nothing may follow the settings")
	}
	return n, nil
}

func invalidUTF8Index(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// errorAt is an error at a place in the text.
func (p *parser) errorAt(at int, problem string) error {
	before := strings.ToValidUTF8(p.text[:at], "\ufffd")
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(strings.TrimPrefix(before[strings.LastIndexByte(before, '\n')+1:], "\ufeff")) + 1
	return &SyntaxError{Line: line, Column: column, Problem: problem}
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// skipSpace goes past white space and comments.
func (p *parser) skipSpace() error {
	for p.pos < len(p.text) {
		switch rest := p.text[p.pos:]; {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.pos++
		case strings.HasPrefix(rest, "//"):
			end, err := p.lineCommentEnd()
			if err != nil {
				return err
			}
			p.pos = end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return p.errorAt(p.pos, "this comment has no end")
			}
			p.pos += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

// lineCommentEnd is where the comment at pos ends, in front of the line's end.
func (p *parser) lineCommentEnd() (end int, err error) {
	end = len(p.text)
	if n := strings.IndexByte(p.text[p.pos:], '\n'); n >= 0 {
		end = p.pos + n
		if p.text[end-1] == '\r' {
			end--
		}
	}
	if at := strings.IndexAny(p.text[p.pos:end], "\r\u2028\u2029"); at >= 0 {
		return 0, p.errorAt(p.pos+at, "readers differ in whether this character ends the comment")
	}
	return end, nil
}

func (p *parser) parseValue(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, p.errorAt(p.pos, "nested too deep")
	}
	n := &node{start: p.pos}
	var err error
	switch c := p.peek(); {
	case c == '{' || c == '[':
		n.kind = c
		err = p.parseMembers(n, depth)
	case c == '"':
		n.kind = kindString
		_, err = p.parseString()
	default:
		n.kind = kindLiteral
		err = p.parseLiteral()
	}
	n.end = p.pos
	return n, err
}

// parseLiteral reads a number, true, false or null.
func (p *parser) parseLiteral() error {
	end := p.pos
	for end < len(p.text) && strings.IndexByte(" \t\r\n,:{}[]\"/", p.text[end]) < 0 {
		end++
	}
	word := p.text[p.pos:end]
	if word == "" && end < len(p.text) {
		return p.errorAt(p.pos, fmt.Sprintf("a value is wanted here, not %q", p.text[end:end+1]))
	}
	if word == "" {
		return p.errorAt(p.pos, "the text ends where a value is wanted")
	}
	if !json.Valid([]byte(word)) {
		return p.errorAt(p.pos, fmt.Sprintf("%.40q is no JSON value", word))
	}
	p.pos = end
	return nil
}

// parseString reads a string and returns what it means.
func (p *parser) parseString() (string, error) {
	start := p.pos
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			var meant string
			if err := json.Unmarshal([]byte(p.text[start:p.pos]), &meant); err != nil {
				return "", p.errorAt(start, "this string has an escape that JSON doesn't know")
			}
			return meant, nil
		case c == '\\':
			p.pos++
		case c < ' ':
			return "", p.errorAt(p.pos, "a string must not contain a control character or go over the line's end")
		}
	}
	return "", p.errorAt(start, "this string has no end")
}

// parseMembers reads an object or an array, from its opening to its closing bracket.
func (p *parser) parseMembers(n *node, depth int) error {
	closing := n.kind + 2 // '{' '}' and '[' ']' are two apart
	known := map[string]bool{}
	for p.pos++; ; {
		if err := p.skipSpace(); err != nil {
			return err
		}
		if p.peek() == closing {
			p.pos++
			return nil
		}
		if err := p.checkMember(n, closing); err != nil {
			return err
		}
		m := member{start: p.pos, comma: -1}
		if n.kind == kindObject {
			if err := p.parseKey(&m, known); err != nil {
				return err
			}
		}
		var err error
		if m.value, err = p.parseValue(depth + 1); err != nil {
			return err
		}
		if err := p.skipSpace(); err != nil {
			return err
		}
		if p.peek() == ',' {
			m.comma = p.pos
			p.pos++
		}
		n.members = append(n.members, m)
	}
}

// checkMember complains when no member may begin here.
func (p *parser) checkMember(n *node, closing byte) error {
	switch last := len(n.members) - 1; {
	case p.pos == len(p.text):
		return p.errorAt(n.start, fmt.Sprintf("this %c has no %c", n.kind, closing))
	case last >= 0 && n.members[last].comma < 0:
		return p.errorAt(p.pos, fmt.Sprintf("a comma or %c is missing here", closing))
	case n.kind == kindObject && p.peek() != '"':
		return p.errorAt(p.pos, "a name in double quotes is wanted here")
	}
	return nil
}

// parseKey reads a member's name and the colon.
func (p *parser) parseKey(m *member, known map[string]bool) (err error) {
	if m.key, err = p.parseString(); err != nil {
		return err
	}
	if known[m.key] {
		return p.errorAt(m.start, fmt.Sprintf("%.40q is there twice, and readers differ in which one counts", m.key))
	}
	known[m.key] = true
	if err := p.skipSpace(); err != nil {
		return err
	}
	if p.peek() != ':' {
		return p.errorAt(p.pos, "a colon is missing here")
	}
	p.pos++
	return p.skipSpace()
}

// minify is what n means, without comments and white space: two texts with the same
// plain say the same.
func minify(content string, n *node) string {
	var b strings.Builder
	writeMinified(&b, content, n)
	return b.String()
}

func writeMinified(b *strings.Builder, content string, n *node) {
	if n.kind != kindObject && n.kind != kindArray {
		b.WriteString(content[n.start:n.end])
		return
	}
	b.WriteByte(n.kind)
	for i, m := range n.members {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == kindObject {
			b.WriteString(quote(m.key) + ":")
		}
		writeMinified(b, content, m.value)
	}
	b.WriteByte(n.kind + 2)
}

// decode reads n into v, as encoding/json would.
func decode(content string, n *node, v any) error {
	if n == nil {
		return errors.New("it is not there")
	}
	return json.Unmarshal([]byte(minify(content, n)), v)
}
