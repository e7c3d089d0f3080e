package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// fields are the members of an object to write, in order.
type fields []field

type field struct {
	name  string
	value any // string, int, bool, []string, []any or fields
}

// quote encodes s as JSON without HTML escapes.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// layout is the formatting style of a file.
type layout struct {
	newline string
	unit    string // one step of indentation
}

// layoutOf detects the layout: the first line ending, and the indentation of the first
// entry on a separate line.
func layoutOf(content string, root *node) layout {
	l := layout{newline: "\n", unit: "  "}
	if i := strings.IndexByte(content, '\n'); i > 0 && content[i-1] == '\r' {
		l.newline = "\r\n"
	}
	for _, m := range root.members {
		lead := content[:m.start]
		space := lead[len(strings.TrimRight(lead, " \t")):]
		if space != "" && strings.HasSuffix(strings.TrimSuffix(lead, space), "\n") {
			l.unit = space
			break
		}
	}
	return l
}

// render encodes v with indent before every line but the first. A layout without line
// breaks yields one line.
func (l layout) render(v any, indent string) string {
	between, inner, outer := ",", l.newline+indent+l.unit, l.newline+indent
	if l.newline == "" {
		between, inner, outer = ", ", "", ""
	}
	list := func(brackets string, n int, element func(i int) string) string {
		if n == 0 {
			return brackets
		}
		entries := make([]string, n)
		for i := range n {
			entries[i] = inner + element(i)
		}
		return brackets[:1] + strings.Join(entries, between) + outer + brackets[1:]
	}
	switch v := v.(type) {
	case fields:
		return list("{}", len(v), func(i int) string { return quote(v[i].name) + ": " + l.render(v[i].value, indent+l.unit) })
	case []any:
		return list("[]", len(v), func(i int) string { return l.render(v[i], indent+l.unit) })
	case []string: // arguments stay on one line
		inner, outer, between = "", "", ", "
		return list("[]", len(v), func(i int) string { return quote(v[i]) })
	case string:
		return quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// minifyValue returns the minified form of a value that we would write; see minify.
func minifyValue(v any) string {
	content := layout{}.render(v, "")
	p := &parser{text: content}
	n, err := p.parseValue(0)
	if err != nil {
		return ""
	}
	return minify(content, n)
}

// indentAt returns the indentation of the line that contains an offset.
func indentAt(content string, at int) string {
	line := content[strings.LastIndexByte(content[:at], '\n')+1 : at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// insertion is the record, in addition to the entry itself, for undoing an insertion
// byte by byte.
type insertion struct {
	// CreatedPaths are the paths of containers and values that did not exist before.
	CreatedPaths [][]string `json:"made,omitempty"`
	// ExpandedPaths are the paths of containers that were empty and on one line.
	ExpandedPaths [][]string `json:"opened,omitempty"`
}

func containsPath(paths [][]string, path []string) bool {
	return slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, path) })
}

func withoutPath(paths [][]string, path []string) [][]string {
	return slices.DeleteFunc(slices.Clone(paths), func(p []string) bool { return slices.Equal(p, path) })
}

// errWrongShape is wrapped by errors about an existing value of an unexpected kind.
var errWrongShape = errors.New("the file was not changed")

// addEntry appends v to the array at path. It creates missing containers on the way and
// records them in t.
func addEntry(content string, path []string, v any, t *insertion) (string, error) {
	root, err := parse(content)
	if err != nil {
		return "", err
	}
	container, depth := root, 0
	for ; depth < len(path); depth++ {
		next := container.lookup(path[depth])
		if next == nil {
			break
		}
		if want := expectedKind(path, depth+1); next.kind != want {
			p := parser{text: content}
			return "", fmt.Errorf("%w: %w", p.errorAt(next.start, fmt.Sprintf("%s must be an %s", strings.Join(path[:depth+1], "."), kindName(want))), errWrongShape)
		}
		container = next
	}
	for i := len(path); i > depth; i-- {
		if i == len(path) {
			v = []any{v}
		} else {
			v = fields{{path[i], v}}
		}
		t.CreatedPaths = append(t.CreatedPaths, slices.Clone(path[:i]))
	}
	name := ""
	if depth < len(path) {
		name = path[depth]
	}
	return insertMember(document{content, root}, insertPoint{container, path[:depth], name}, v, t)
}

// setMember adds a member to the root object unless it already has one of that name.
func setMember(content, name string, v any, t *insertion) (string, error) {
	root, err := parse(content)
	if err != nil || root.lookup(name) != nil {
		return content, err
	}
	t.CreatedPaths = append(t.CreatedPaths, []string{name})
	return insertMember(document{content, root}, insertPoint{root, nil, name}, v, t)
}

func expectedKind(path []string, depth int) byte {
	if depth == len(path) {
		return kindArray
	}
	return kindObject
}

func kindName(kind byte) string {
	if kind == kindArray {
		return "array"
	}
	return "object"
}

// document is a text and its parsed root.
type document struct {
	content string
	root    *node
}

// insertPoint is the end of the container that receives an entry.
type insertPoint struct {
	container *node
	path      []string // path of the container
	name      string   // name of the entry if the container is an object
}

// insertMember inserts v at that point, and verifies that nothing else changed.
func insertMember(d document, at insertPoint, v any, t *insertion) (string, error) {
	content, l := d.content, layoutOf(d.content, d.root)
	c := at.container
	outer := indentAt(content, c.start)
	label := ""
	if c.kind == kindObject {
		label = quote(at.name) + ": "
	}
	var after string
	if len(c.members) == 0 {
		lead := l.newline + outer + l.unit
		trail := ""
		if !strings.Contains(content[c.start:c.end], "\n") {
			trail = l.newline + outer
			t.ExpandedPaths = append(t.ExpandedPaths, slices.Clone(at.path))
		}
		after = content[:c.start+1] + lead + label + l.render(v, outer+l.unit) + trail + content[c.start+1:]
	} else {
		after = l.appendMember(content, c, label, v)
	}
	reparsed, err := parse(after)
	if err != nil {
		return "", err
	}
	grown := reparsed.lookup(at.path...)
	last := grown.members[len(grown.members)-1]
	grown.members = grown.members[:len(grown.members)-1]
	if last.key != at.name || minify(after, last.value) != minifyValue(v) || minify(after, reparsed) != minify(content, d.root) {
		return "", errors.New("the entry can't be added without changing others; nothing was written")
	}
	return after, nil
}

// appendMember appends v after the last member of c.
func (l layout) appendMember(content string, c *node, label string, v any) string {
	first, last := c.members[0], c.members[len(c.members)-1]
	offset, comma := last.value.end, ""
	head := content[:last.value.end] + ","
	if last.comma >= 0 {
		offset, comma = last.comma+1, ","
		head = content[:offset]
	}
	comments, toLineEnd := sameLineComments(content[offset:])
	head += content[offset : offset+comments]
	indent := indentAt(content, first.start)
	if lineStart := strings.LastIndexByte(content[:first.start], '\n') + 1; strings.TrimSpace(content[lineStart:first.start]) != "" {
		if !toLineEnd && !strings.Contains(content[c.start:c.end], "\n") {
			return head + " " + label + layout{}.render(v, "") + comma + content[offset+comments:]
		}
		indent = indentAt(content, c.start) + l.unit
	}
	return head + l.newline + indent + label + l.render(v, indent) + comma + content[offset+comments:]
}

// sameLineComments returns the length of the comments that follow on the same line,
// including the white space before them, and whether the last one extends to the end of
// the line.
func sameLineComments(rest string) (n int, toLineEnd bool) {
	for {
		blanks := len(rest[n:]) - len(strings.TrimLeft(rest[n:], " \t"))
		next := rest[n+blanks:]
		switch {
		case strings.HasPrefix(next, "//"):
			p := parser{text: rest, pos: n + blanks}
			end, err := p.lineCommentEnd()
			if err != nil {
				return n, false
			}
			return end, true
		case strings.HasPrefix(next, "/*"):
			end := strings.Index(next, "*/") + 2
			if strings.Contains(next[:end], "\n") {
				return n, false
			}
			n += blanks + end
		default:
			return n, false
		}
	}
}
