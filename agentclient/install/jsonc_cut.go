package install

import (
	"errors"
	"slices"
	"strings"
)

// span is a range of byte offsets in a text.
type span struct{ start, end int }

// cutMember removes member i from the container at path. It is the inverse of
// insertMember: it removes exactly the bytes that were inserted. t is the record of the
// insertion; without it, an emptied container is collapsed.
func cutMember(content string, path []string, i int, t *insertion) (string, error) {
	root, err := parse(content)
	if err != nil {
		return "", err
	}
	c := root.lookup(path...)
	spans := []span{memberSpan(content, c, i)}
	switch m := c.members[i]; {
	case m.comma >= 0:
		spans = append(spans, span{m.comma, m.comma + 1})
	case i > 0:
		before := c.members[i-1].comma
		spans = append(spans, span{before, before + 1})
	}
	if len(c.members) == 1 {
		spans = append(spans, trailingSpan(content, c, path, t))
	}
	d := document{content, root}
	after := removeSpans(content, spans)
	if !d.equalsWithout(c, i, after) {
		// Without the white space the text would change its meaning, for example if a
		// line comment precedes the entry. So keep the white space.
		spans[0].start = c.members[i].start
		if after = removeSpans(content, spans); !d.equalsWithout(c, i, after) {
			return "", errors.New("the entry can't be removed without changing others; nothing was written")
		}
	}
	return after, nil
}

// memberSpan returns the span of a member including the line break before it.
func memberSpan(content string, c *node, i int) span {
	m := c.members[i]
	lead := content[:m.start]
	bare := strings.TrimRight(lead, " \t")
	if line := strings.TrimSuffix(bare, "\n"); line != bare {
		bare = strings.TrimSuffix(line, "\r")
	}
	return span{len(bare), m.value.end}
}

// trailingSpan returns the white space to remove with the last member of a container.
func trailingSpan(content string, c *node, path []string, t *insertion) span {
	from := c.members[0].value.end
	if comma := c.members[0].comma; comma >= 0 {
		from = comma + 1
	}
	rest := content[from : c.end-1]
	blank := strings.TrimSpace(rest) == "" && strings.TrimSpace(content[c.start+1:c.members[0].start]) == ""
	switch {
	case t == nil && blank:
		return span{from, c.end - 1}
	case t == nil || !containsPath(t.ExpandedPaths, path):
		return span{from, from}
	}
	// insertMember added a line break and the indentation of the closing bracket.
	newline := strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "\r\n")
	if !newline {
		return span{from, from}
	}
	end := from + strings.IndexByte(rest, '\n') + 1
	end += len(indentAt(content, c.start))
	if end > c.end-1 || strings.TrimSpace(content[from:end]) != "" {
		return span{from, from}
	}
	return span{from, end}
}

// removeSpans returns content without the spans.
func removeSpans(content string, spans []span) string {
	var b strings.Builder
	for i := range len(content) {
		if !slices.ContainsFunc(spans, func(s span) bool { return s.start <= i && i < s.end }) {
			b.WriteByte(content[i])
		}
	}
	return b.String()
}

// equalsWithout reports whether after has the same value as d without member i of c.
func (d document) equalsWithout(c *node, i int, after string) bool {
	reparsed, err := parse(after)
	if err != nil {
		return false
	}
	all := c.members
	defer func() { c.members = all }()
	c.members = slices.Delete(slices.Clone(all), i, i+1)
	return minify(d.content, d.root) == minify(after, reparsed)
}

// replaceMember replaces member i of the container at path with v.
func replaceMember(content string, path []string, i int, v any) (string, error) {
	root, err := parse(content)
	if err != nil {
		return "", err
	}
	c := root.lookup(path...)
	m := c.members[i]
	l := layoutOf(content, root)
	if !strings.Contains(content[c.start:c.end], "\n") {
		l = layout{}
	}
	after := content[:m.value.start] + l.render(v, indentAt(content, m.start)) + content[m.value.end:]
	reparsed, err := parse(after)
	if err != nil {
		return "", err
	}
	container := reparsed.lookup(path...)
	if len(container.members) != len(c.members) || minify(after, container.members[i].value) != minifyValue(v) {
		return "", errors.New("the entry can't be replaced without changing others; nothing was written")
	}
	container.members = slices.Delete(container.members, i, i+1)
	c.members = slices.Delete(slices.Clone(c.members), i, i+1)
	if minify(content, root) != minify(after, reparsed) {
		return "", errors.New("the entry can't be replaced without changing others; nothing was written")
	}
	return after, nil
}

// removeCreatedParents removes the containers and plain values that insertions created
// and that are no longer needed: empty containers from the innermost, and plain values
// only after the last created container. Paths that no longer exist are dropped from t.
func removeCreatedParents(content string, t *insertion) (string, error) {
	deepest := 0
	for _, path := range t.CreatedPaths {
		deepest = max(deepest, len(path))
	}
	var err error
	for _, scalars := range []bool{false, true} {
		for depth := deepest; depth > 0; depth-- {
			for _, path := range slices.Backward(slices.Clone(t.CreatedPaths)) {
				if len(path) != depth {
					continue
				}
				if content, err = removeCreatedParent(content, path, scalars, t); err != nil {
					return "", err
				}
			}
		}
	}
	return content, nil
}

// removeCreatedParent removes one container, or one plain value if scalars is set.
func removeCreatedParent(content string, path []string, scalars bool, t *insertion) (string, error) {
	root, err := parse(content)
	if err != nil {
		return "", err
	}
	n := root.lookup(path...)
	scalar := n != nil && !isContainer(n)
	switch {
	case n == nil:
	case scalar != scalars:
		return content, nil
	case scalar && slices.ContainsFunc(t.CreatedPaths, func(p []string) bool { return isContainer(root.lookup(p...)) }):
		return content, nil // foreign entries use the created containers and may need the value
	case !scalar && !isEmpty(content, n):
		return content, nil
	default:
		parent := path[:len(path)-1]
		if content, err = cutMember(content, parent, root.lookup(parent...).index(path[len(path)-1]), t); err != nil {
			return "", err
		}
	}
	t.CreatedPaths = withoutPath(t.CreatedPaths, path)
	return content, nil
}

// isEmpty reports whether n has no members and no comment.
func isEmpty(content string, n *node) bool {
	return len(n.members) == 0 && strings.TrimSpace(content[n.start+1:n.end-1]) == ""
}

func isContainer(n *node) bool { return n != nil && (n.kind == kindObject || n.kind == kindArray) }
