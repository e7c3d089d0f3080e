package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError is the position and cause of a parse error in a settings file. Such a file
// is never written, because its agent might parse it differently.
type SyntaxError struct {
	Line, Column int // from 1, in characters
	Problem      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// maxDepth limits the nesting of values.
const maxDepth = 200

// The kinds of a node.
const (
	kindObject  = '{'
	kindArray   = '['
	kindString  = '"'
	kindLiteral = '0' // a number, true, false or null
)

// node is a value and its position in a text.
type node struct {
	kind       byte
	start, end int // text[start:end] is the value
	members    []member
}

// member is one member of an object or one element of an array.
type member struct {
	key   string // decoded; "" in an array
	start int    // offset of the key, or of the value in an array
	value *node
	comma int // offset of the comma after it, -1 if there is none
}

// index returns the index of the member with that name, or the numeric index in an
// array, or -1.
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

// lookup returns the value at a path of keys, or nil.
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

// parser parses JSON with comments and trailing commas, like the agents' own parsers.
type parser struct {
	text string
	pos  int
}

// parse parses the whole text, which must be an object.
func parse(content string) (*node, error) {
	p := &parser{text: content}
	if at := invalidUTF8Index(content); at >= 0 {
		return nil, p.errorAt(at, "the text is not valid UTF-8")
	}
	p.pos = len(content) - len(strings.TrimPrefix(content, "\ufeff"))
	if err := p.skipSpace(); err != nil {
		return nil, err
	}
	if p.pos == len(content) {
		return nil, p.errorAt(p.pos, "the file is empty; delete it, or write {} to it")
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
		return nil, p.errorAt(p.pos, "unexpected text after the settings")
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

// errorAt returns a SyntaxError for an offset in the text.
func (p *parser) errorAt(at int, problem string) error {
	before := strings.ToValidUTF8(p.text[:at], "\ufffd")
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(strings.TrimPrefix(before[strings.LastIndexByte(before, '\n')+1:], "\ufeff")) + 1
	return &SyntaxError{Line: line, Column: column, Problem: problem}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// skipSpace skips white space and comments.
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
				return p.errorAt(p.pos, "the comment is not closed")
			}
			p.pos += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

// lineCommentEnd returns the end of the comment at pos, before the line ending.
func (p *parser) lineCommentEnd() (end int, err error) {
	end = len(p.text)
	if n := strings.IndexByte(p.text[p.pos:], '\n'); n >= 0 {
		end = p.pos + n
		if p.text[end-1] == '\r' {
			end--
		}
	}
	if at := strings.IndexAny(p.text[p.pos:end], "\r\u2028\u2029"); at >= 0 {
		return 0, p.errorAt(p.pos+at, "parsers disagree whether this character ends the comment")
	}
	return end, nil
}

func (p *parser) parseValue(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, p.errorAt(p.pos, "nested too deeply")
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

// parseLiteral parses a number, true, false or null.
func (p *parser) parseLiteral() error {
	end := p.pos
	for end < len(p.text) && strings.IndexByte(" \t\r\n,:{}[]\"/", p.text[end]) < 0 {
		end++
	}
	word := p.text[p.pos:end]
	if word == "" && end < len(p.text) {
		return p.errorAt(p.pos, fmt.Sprintf("expected a value, found %q", p.text[end:end+1]))
	}
	if word == "" {
		return p.errorAt(p.pos, "expected a value, found the end of the file")
	}
	if !json.Valid([]byte(word)) {
		return p.errorAt(p.pos, fmt.Sprintf("%.40q is not a JSON value", word))
	}
	p.pos = end
	return nil
}

// parseString parses a string and returns its value.
func (p *parser) parseString() (string, error) {
	start := p.pos
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			var value string
			if err := json.Unmarshal([]byte(p.text[start:p.pos]), &value); err != nil {
				return "", p.errorAt(start, "the string has an escape that JSON does not define")
			}
			return value, nil
		case c == '\\':
			p.pos++
		case c < ' ':
			return "", p.errorAt(p.pos, "a string must not contain control characters or line breaks")
		}
	}
	return "", p.errorAt(start, "the string is not closed")
}

// parseMembers parses an object or array including its brackets.
func (p *parser) parseMembers(n *node, depth int) error {
	closing := n.kind + 2 // in ASCII, '{' '}' and '[' ']' are two apart
	seen := map[string]bool{}
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
			if err := p.parseKey(&m, seen); err != nil {
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

// checkMember returns an error if no member can start here.
func (p *parser) checkMember(n *node, closing byte) error {
	switch last := len(n.members) - 1; {
	case p.pos == len(p.text):
		return p.errorAt(n.start, fmt.Sprintf("this %c has no matching %c", n.kind, closing))
	case last >= 0 && n.members[last].comma < 0:
		return p.errorAt(p.pos, fmt.Sprintf("expected a comma or %c", closing))
	case n.kind == kindObject && p.peek() != '"':
		return p.errorAt(p.pos, "expected a name in double quotes")
	}
	return nil
}

// parseKey parses a member's name and the colon.
func (p *parser) parseKey(m *member, seen map[string]bool) (err error) {
	if m.key, err = p.parseString(); err != nil {
		return err
	}
	if seen[m.key] {
		return p.errorAt(m.start, fmt.Sprintf("duplicate name %.40q; parsers disagree which one applies", m.key))
	}
	seen[m.key] = true
	if err := p.skipSpace(); err != nil {
		return err
	}
	if p.peek() != ':' {
		return p.errorAt(p.pos, "expected a colon")
	}
	p.pos++
	return p.skipSpace()
}

// minify returns the JSON of n without comments and white space. Equal results mean
// equal values.
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

// decode decodes n into v like encoding/json.
func decode(content string, n *node, v any) error {
	if n == nil {
		return errors.New("value not found")
	}
	return json.Unmarshal([]byte(minify(content, n)), v)
}
