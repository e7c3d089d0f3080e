package jsonc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Fields are the members of an object to write, in order.
type Fields []Field

// Field is one member of Fields.
type Field struct {
	Name  string
	Value any // string, int, bool, []string, []any or fields
}

// With returns f with one more member.
func (f Fields) With(name string, value any) Fields { return append(f, Field{name, value}) }

// OneLine returns the JSON of a value as in Fields on one line.
func OneLine(v any) string { return layout{}.render(v, "") }

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
func layoutOf(d *Document) layout {
	l := layout{newline: "\n", unit: "  "}
	if i := strings.IndexByte(d.content, '\n'); i > 0 && d.content[i-1] == '\r' {
		l.newline = "\r\n"
	}
	for _, m := range Members(&d.root) {
		lead := string(m.first.BeforeExtra)
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
	case Fields:
		return list("{}", len(v), func(i int) string { return quote(v[i].Name) + ": " + l.render(v[i].Value, indent+l.unit) })
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

// tree returns the syntax tree of a rendered value.
func (l layout) tree(v any, indent string) hujson.ValueTrimmed {
	root, _ := hujson.Parse([]byte(l.render(v, indent))) // render returns valid JSON
	return root.Value
}

// pack returns the text after an edit. Parsing it again must yield what the edit meant.
func (d *Document) pack() (string, error) {
	text := d.root.String()
	parsed, err := Parse(text)
	if err != nil || Minify(&parsed.root) != Minify(&d.root) {
		return "", errors.New("the entry can't be changed without changing others; nothing was written")
	}
	return text, nil
}

// indentAt returns the indentation of the line that contains an offset.
func indentAt(content string, at int) string {
	line := content[strings.LastIndexByte(content[:at], '\n')+1 : at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// Insertion is the record, in addition to the entry itself, for undoing an insertion
// byte by byte.
type Insertion struct {
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

// AddEntry appends v to the array at path. It creates missing containers on the way and
// records them in t.
func AddEntry(content string, path []string, v any, t *Insertion) (string, error) {
	d, err := Parse(content)
	if err != nil {
		return "", err
	}
	container, depth := &d.root, 0
	for ; depth < len(path); depth++ {
		next := Lookup(container, path[depth])
		if next == nil {
			break
		}
		want, kind := hujson.Kind('{'), "object"
		if depth == len(path)-1 {
			want, kind = '[', "array"
		}
		if next.Value.Kind() != want {
			return "", fmt.Errorf("%w: %w", d.errorAt(next.StartOffset, fmt.Sprintf("%s must be an %s", strings.Join(path[:depth+1], "."), kind)), errWrongShape)
		}
		container = next
	}
	for i := len(path); i > depth; i-- {
		if i == len(path) {
			v = []any{v}
		} else {
			v = Fields{{path[i], v}}
		}
		t.CreatedPaths = append(t.CreatedPaths, slices.Clone(path[:i]))
	}
	name := ""
	if depth < len(path) {
		name = path[depth]
	}
	return d.insertMember(path[:depth], name, v, t)
}

// SetMember adds a member to the root object unless it already has one of that name.
func SetMember(content, name string, v any, t *Insertion) (string, error) {
	d, err := Parse(content)
	if err != nil || d.Lookup(name) != nil {
		return content, err
	}
	t.CreatedPaths = append(t.CreatedPaths, []string{name})
	return d.insertMember(nil, name, v, t)
}

// insertMember appends v to the container at path and returns the new text. name is empty
// if the container is an array.
func (d *Document) insertMember(path []string, name string, v any, t *Insertion) (string, error) {
	c, l := d.Lookup(path...), layoutOf(d)
	closing := closingExtra(c)
	indent := indentAt(d.content, c.StartOffset)
	oneLine := !strings.Contains(d.content[c.StartOffset:c.EndOffset], "\n")
	var lead string
	var value hujson.Value
	if all := Members(c); len(all) == 0 {
		if oneLine {
			*closing = hujson.Extra(l.newline + indent + string(*closing))
			t.ExpandedPaths = append(t.ExpandedPaths, slices.Clone(path))
		}
		indent += l.unit
	} else {
		comments, toLineEnd := sameLineComments(string(*closing))
		lead, *closing = string((*closing)[:comments]), (*closing)[comments:]
		if all[len(all)-1].Value.AfterExtra != nil { // a trailing comma
			value.AfterExtra = hujson.Extra{}
		}
		first := all[0].first.StartOffset
		switch startsLine := strings.TrimSpace(d.content[strings.LastIndexByte(d.content[:first], '\n')+1:first]) == ""; {
		case startsLine:
			indent = indentAt(d.content, first)
		case oneLine && !toLineEnd:
			indent, l = " ", layout{}
		default:
			indent += l.unit
		}
	}
	value.Value = l.tree(v, indent)
	extra := hujson.Extra(lead + l.newline + indent)
	switch c := c.Value.(type) {
	case *hujson.Object:
		value.BeforeExtra = hujson.Extra(" ")
		c.Members = append(c.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: extra, Value: hujson.Literal(quote(name))}, Value: value})
	case *hujson.Array:
		value.BeforeExtra = extra
		c.Elements = append(c.Elements, value)
	}
	return d.pack()
}

// sameLineComments returns the length of the comments that follow on the same line,
// including the white space before them, and whether the last one extends to the end of
// the line.
func sameLineComments(rest string) (n int, toLineEnd bool) {
	for {
		next := strings.TrimLeft(rest[n:], " \t")
		switch {
		case strings.HasPrefix(next, "//"):
			line, _, _ := strings.Cut(rest, "\n")
			return len(strings.TrimSuffix(line, "\r")), true
		case strings.HasPrefix(next, "/*"):
			end := strings.Index(next[2:], "*/") + 4
			if strings.Contains(next[:end], "\n") {
				return n, false
			}
			n = len(rest) - len(next) + end
		default:
			return n, false
		}
	}
}

// CutMember removes member i from the container at path. It is the inverse of
// insertMember: it removes exactly the bytes that were inserted. t is the record of the
// insertion; without it, an emptied container is collapsed.
func CutMember(content string, path []string, i int, t *Insertion) (string, error) {
	d, err := Parse(content)
	if err != nil {
		return "", err
	}
	c := d.Lookup(path...)
	all := Members(c)
	m, closing := all[i], closingExtra(c)
	if len(all) == 1 {
		*closing = d.cutClosingExtra(c, path, t)
	}
	before, following := hujson.Extra{}, closing
	switch isLast := i == len(all)-1; {
	case !isLast:
		following = &all[i+1].first.BeforeExtra
	case i > 0 && m.Value.AfterExtra == nil: // the comma before it goes, too
		before, all[i-1].Value.AfterExtra = all[i-1].Value.AfterExtra, nil
	case i > 0 && all[i-1].Value.AfterExtra == nil: // the comma before it becomes a trailing one
		all[i-1].Value.AfterExtra = hujson.Extra{}
	}
	after := slices.Concat(m.Value.AfterExtra, *following)
	joined := slices.Concat(before, withoutLastLine(m.first.BeforeExtra), after)
	if !joined.IsValid() { // a line comment before it needs the line break
		joined = slices.Concat(before, m.first.BeforeExtra, after)
	}
	*following = joined
	switch c := c.Value.(type) {
	case *hujson.Object:
		c.Members = slices.Delete(c.Members, i, i+1)
	case *hujson.Array:
		c.Elements = slices.Delete(c.Elements, i, i+1)
	}
	return d.pack()
}

// withoutLastLine returns lead without its last line break and the white space after it.
func withoutLastLine(lead hujson.Extra) hujson.Extra {
	bare := strings.TrimRight(string(lead), " \t")
	if line, found := strings.CutSuffix(bare, "\n"); found {
		bare = strings.TrimSuffix(line, "\r")
	}
	return hujson.Extra(bare)
}

// cutClosingExtra returns what stays before the closing bracket of c when its only member
// is removed.
func (d *Document) cutClosingExtra(c *hujson.Value, path []string, t *Insertion) hujson.Extra {
	closing := *closingExtra(c)
	if t == nil {
		if isBlank(closing) && isBlank(Members(c)[0].first.BeforeExtra) {
			return nil
		}
		return closing
	}
	// insertMember added a line break and the indentation of the closing bracket.
	line, _, found := strings.Cut(string(closing), "\n")
	added := len(line) + 1 + len(indentAt(d.content, c.StartOffset))
	if !containsPath(t.ExpandedPaths, path) || !found || strings.TrimSuffix(line, "\r") != "" ||
		added > len(closing) || !isBlank(closing[:added]) {
		return closing
	}
	return closing[added:]
}

// ReplaceMember replaces member i of the container at path with v.
func ReplaceMember(content string, path []string, i int, v any) (string, error) {
	d, err := Parse(content)
	if err != nil {
		return "", err
	}
	c, l := d.Lookup(path...), layoutOf(d)
	if !strings.Contains(d.content[c.StartOffset:c.EndOffset], "\n") {
		l = layout{}
	}
	m := Members(c)[i]
	m.Value.Value = l.tree(v, indentAt(d.content, m.first.StartOffset))
	return d.pack()
}

// RemoveCreatedParents removes the containers and plain values that insertions created
// and that are no longer needed: empty containers from the innermost, and plain values
// only after the last created container. Paths that no longer exist are dropped from t.
func RemoveCreatedParents(content string, t *Insertion) (string, error) {
	innermost := slices.Clone(t.CreatedPaths)
	slices.Reverse(innermost)
	slices.SortStableFunc(innermost, func(a, b []string) int { return len(b) - len(a) })
	d, err := Parse(content)
	for _, scalars := range []bool{false, true} {
		for _, path := range innermost {
			if err == nil {
				d, err = d.removeCreatedParent(path, scalars, t)
			}
		}
	}
	if err != nil {
		return "", err
	}
	return d.content, nil
}

// removeCreatedParent removes one container, or one plain value if scalars is set. It
// returns d if nothing is removed.
func (d *Document) removeCreatedParent(path []string, scalars bool, t *Insertion) (*Document, error) {
	v := d.Lookup(path...)
	scalar := v != nil && !isContainer(v)
	switch {
	case v == nil:
	case scalar != scalars:
		return d, nil
	case scalar && slices.ContainsFunc(t.CreatedPaths, func(p []string) bool { return isContainer(d.Lookup(p...)) }):
		return d, nil // foreign entries use the created containers and may need the value
	case !scalar && !IsEmpty(v):
		return d, nil
	default:
		content, err := d.CutPath(path, t)
		if err != nil {
			return nil, err
		}
		if d, err = Parse(content); err != nil {
			return nil, err
		}
	}
	t.CreatedPaths = withoutPath(t.CreatedPaths, path)
	return d, nil
}

// CutPath removes the value at path.
func (d *Document) CutPath(path []string, t *Insertion) (string, error) {
	last := len(path) - 1
	return CutMember(d.content, path[:last], indexOf(d.Lookup(path[:last]...), path[last]), t)
}
