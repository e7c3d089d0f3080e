// Package jsonc reads and edits JSON with comments and trailing commas. An edit changes
// only its own bytes: all other members, comments, order, indentation and line endings
// stay. A text that parsers could read in different ways is an error.
package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
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

// maxDepth limits the nesting of values, because hujson recurses without a limit.
const maxDepth = 200

const byteOrderMark = "\ufeff"

// Document is a settings file: JSON with comments and trailing commas, like the agents'
// own parsers read it. An edit changes the syntax tree, which holds every byte.
type Document struct {
	content string
	root    hujson.Value

	comments, commas []int // offsets of what plain JSON lacks: comments and trailing commas
}

// Parse parses the whole text, which must be an object.
func Parse(content string) (*Document, error) {
	d := &Document{content: content}
	if err := d.checkEmpty(); err != nil {
		return nil, err
	}
	open, err := d.checkTokens()
	if err != nil {
		return nil, err
	}
	// The added line break ends a comment in the last line.
	text := strings.TrimPrefix(content, byteOrderMark)
	if d.root, err = hujson.Parse([]byte(text + "\n")); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) && len(open) > 0 {
			bracket := content[open[len(open)-1]]
			return nil, d.errorAt(open[len(open)-1], fmt.Sprintf("this %c has no matching %c", bracket, bracket+2)) // in ASCII, '{' '}' and '[' ']' are two apart
		}
		return nil, d.syntaxError(err)
	}
	d.root.AfterExtra = d.root.AfterExtra[:len(d.root.AfterExtra)-1]
	d.root.BeforeExtra = append(hujson.Extra(content[:len(content)-len(text)]), d.root.BeforeExtra...)
	d.root.UpdateOffsets()
	if d.root.Value.Kind() != '{' {
		return nil, d.errorAt(d.root.StartOffset, "the settings must be an object")
	}
	return d, d.checkNames()
}

// checkEmpty returns an error if the content is empty or not valid UTF-8.
func (d *Document) checkEmpty() error {
	if !utf8.ValidString(d.content) {
		valid := strings.ToValidUTF8(d.content, "\x00")
		at := 0
		for at < len(valid) && d.content[at] == valid[at] {
			at++
		}
		return d.errorAt(at, "the text is not valid UTF-8")
	}
	if strings.TrimSpace(strings.TrimPrefix(d.content, byteOrderMark)) == "" {
		return d.errorAt(len(d.content), "the file is empty; delete it, or write {} to it")
	}
	return nil
}

// checkTokens returns an error for what hujson accepts and another parser might not, and
// for nesting above maxDepth. open are the offsets of the brackets that are never closed.
func (d *Document) checkTokens() (open []int, err error) {
	var end int
	comma := -1 // offset of the last comma, -1 if a value followed
	for i := 0; i < len(d.content); i = end {
		rest := d.content[i:]
		end = i + 1
		switch c := rest[0]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			continue
		case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*"):
			d.comments = append(d.comments, i)
			if end, err = d.commentEnd(i); err != nil {
				return nil, err
			}
			continue
		case c == '"':
			n := stringEnd(rest)
			if n < 0 {
				return nil, d.errorAt(i, "the string is not closed")
			}
			end = i + n
			if at := strings.IndexFunc(rest[:n], func(r rune) bool { return r < ' ' }); at >= 0 {
				return nil, d.errorAt(i+at, "a string must not contain control characters or line breaks")
			}
			if !json.Valid([]byte(rest[:n])) {
				return nil, d.errorAt(i, "the string has an escape that JSON does not define")
			}
		case c == '{' || c == '[':
			if len(open) > maxDepth {
				return nil, d.errorAt(i, "nested too deeply")
			}
			open = append(open, i)
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
			if comma >= 0 {
				d.commas = append(d.commas, comma)
			}
		}
		if comma = -1; rest[0] == ',' {
			comma = i
		}
	}
	return open, nil
}

// commentEnd returns the offset after the comment at i.
func (d *Document) commentEnd(i int) (int, error) {
	rest := d.content[i:]
	if strings.HasPrefix(rest, "/*") {
		n := strings.Index(rest[2:], "*/")
		if n < 0 {
			return 0, d.errorAt(i, "the comment is not closed")
		}
		return i + n + 4, nil
	}
	line, _, _ := strings.Cut(rest, "\n")
	if at := strings.IndexAny(strings.TrimSuffix(line, "\r"), "\r\u2028\u2029"); at >= 0 {
		return 0, d.errorAt(i+at, "parsers disagree whether this character ends the comment")
	}
	return i + len(line), nil
}

// stringEnd returns the length of the string at the start of text, or -1.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// checkNames returns an error if an object has two members of the same name.
func (d *Document) checkNames() error {
	for v := range d.root.All() {
		object, ok := v.Value.(*hujson.Object)
		if !ok {
			continue
		}
		seen := map[string]bool{}
		for _, m := range object.Members {
			name := literal(m.Name)
			if seen[name] {
				return d.errorAt(m.Name.StartOffset, fmt.Sprintf("duplicate name %.40q; parsers disagree which one applies", name))
			}
			seen[name] = true
		}
	}
	return nil
}

// errorAt returns a SyntaxError for an offset in the text.
func (d *Document) errorAt(at int, problem string) error {
	before := strings.ToValidUTF8(d.content[:at], "\ufffd")
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(strings.TrimPrefix(before[strings.LastIndexByte(before, '\n')+1:], byteOrderMark)) + 1
	return &SyntaxError{Line: line, Column: column, Problem: problem}
}

// syntaxError converts an error of hujson, which counts columns in bytes.
func (d *Document) syntaxError(err error) error {
	lineText, rest, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: line "), ", column ")
	columnText, _, _ := strings.Cut(rest, ":")
	line, _ := strconv.Atoi(lineText) // hujson writes both numbers
	column, _ := strconv.Atoi(columnText)
	at := 0
	for range line - 1 {
		at += strings.IndexByte(d.content[at:], '\n') + 1
	}
	if line == 1 && strings.HasPrefix(d.content, byteOrderMark) {
		at += len(byteOrderMark)
	}
	return d.errorAt(min(at+column-1, len(d.content)), errors.Unwrap(err).Error())
}

// Line returns the line, from 1, in which a value of the document starts.
func (d *Document) Line(v *hujson.Value) int { return d.lineOf(v.StartOffset) }

// CommentLine returns the line of the first comment, and CommaLine that of the first trailing comma; 0 if there is none.
func (d *Document) CommentLine() int { return d.firstLine(d.comments) }

// CommaLine is described at CommentLine.
func (d *Document) CommaLine() int { return d.firstLine(d.commas) }

func (d *Document) firstLine(offsets []int) int {
	if len(offsets) == 0 {
		return 0
	}
	return d.lineOf(offsets[0])
}

func (d *Document) lineOf(at int) int { return 1 + strings.Count(d.content[:at], "\n") }

// Member is one member of an object or one element of an array.
type Member struct {
	Name  string // "" in an array
	Value *hujson.Value

	first *hujson.Value // the name, or the value in an array
}

// Members returns the members of a container, and nil for other values.
func Members(v *hujson.Value) (all []Member) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			all = append(all, Member{literal(m.Name), &m.Value, &m.Name})
		}
	case *hujson.Array:
		for i := range c.Elements {
			all = append(all, Member{"", &c.Elements[i], &c.Elements[i]})
		}
	}
	return all
}

// closingExtra returns the white space and comments before a container's closing bracket.
func closingExtra(v *hujson.Value) *hujson.Extra {
	if object, ok := v.Value.(*hujson.Object); ok {
		return &object.AfterExtra
	}
	return &v.Value.(*hujson.Array).AfterExtra
}

func isContainer(v *hujson.Value) bool {
	return v != nil && (v.Value.Kind() == '{' || v.Value.Kind() == '[')
}

// IsEmpty reports whether a container has no members and no comment.
func IsEmpty(v *hujson.Value) bool {
	return len(Members(v)) == 0 && isBlank(*closingExtra(v))
}

func isBlank(e hujson.Extra) bool { return strings.TrimSpace(string(e)) == "" }

// literal returns the value of a string, and the text of another literal.
func literal(v hujson.Value) string {
	l, _ := v.Value.(hujson.Literal)
	if len(l) > 1 && l[0] == '"' && bytes.IndexByte(l, '\\') < 0 {
		return string(l[1 : len(l)-1]) // what String returns in a fraction of its time
	}
	return l.String()
}

// indexOf returns the index of the member with that name, or the numeric index in an
// array, or -1.
func indexOf(v *hujson.Value, name string) int {
	for i, m := range Members(v) {
		if v.Value.Kind() == '{' && m.Name == name || v.Value.Kind() == '[' && strconv.Itoa(i) == name {
			return i
		}
	}
	return -1
}

// Lookup returns the value at a path of names below v, or nil.
func Lookup(v *hujson.Value, path ...string) *hujson.Value {
	for _, name := range path {
		i := indexOf(v, name)
		if i < 0 {
			return nil
		}
		v = Members(v)[i].Value
	}
	return v
}

// Lookup returns the value at a path of names, or nil. Without names it returns the root.
func (d *Document) Lookup(path ...string) *hujson.Value { return Lookup(&d.root, path...) }

// Minify returns the JSON of v without comments and white space. Equal results mean equal
// values.
func Minify(v *hujson.Value) string {
	clone := v.Clone()
	clone.Minimize()
	return clone.String()
}

// Decode decodes from into v like encoding/json.
func Decode(from *hujson.Value, v any) error {
	if from == nil {
		return errors.New("value not found")
	}
	return json.Unmarshal([]byte(Minify(from)), v)
}
