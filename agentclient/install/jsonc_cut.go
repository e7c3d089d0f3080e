package install

import (
	"errors"
	"slices"
	"strings"
)

// span is a part of a text.
type span struct{ start, end int }

// cutMember takes member i out of the container at path. It is the reverse of insert:
// what insert added goes, to the byte, and nothing else. t is what is known of the
// insertion; without it an emptied container is closed up.
func cutMember(content string, path []string, i int, t *insertion) (string, error) {
	root, err := parse(content)
	if err != nil {
		return "", err
	}
	c := root.lookup(path...)
	gone := []span{memberSpan(content, c, i)}
	switch m := c.members[i]; {
	case m.comma >= 0:
		gone = append(gone, span{m.comma, m.comma + 1})
	case i > 0:
		before := c.members[i-1].comma
		gone = append(gone, span{before, before + 1})
	}
	if len(c.members) == 1 {
		gone = append(gone, trailingSpan(content, c, path, t))
	}
	d := document{content, root}
	after := removeSpans(content, gone)
	if !d.equalsWithout(c, i, after) {
		// What is left would mean something else, such as an entry behind a comment
		// that goes to the line's end: then the white space stays.
		gone[0].start = c.members[i].start
		if after = removeSpans(content, gone); !d.equalsWithout(c, i, after) {
			return "", errors.New("the entry can't be taken out without changing others; nothing was written")
		}
	}
	return after, nil
}

// memberSpan is a member's text with the line it begins on.
func memberSpan(content string, c *node, i int) span {
	m := c.members[i]
	lead := content[:m.start]
	bare := strings.TrimRight(lead, " \t")
	if line := strings.TrimSuffix(bare, "\n"); line != bare {
		bare = strings.TrimSuffix(line, "\r")
	}
	return span{len(bare), m.value.end}
}

// trailingSpan is the white space that goes with the last member of a container.
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
	case t == nil || !containsPath(t.Expanded, path):
		return span{from, from}
	}
	// insert opened it with a line's end and the closing bracket's indentation.
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

// removeSpans leaves the spans out.
func removeSpans(content string, gone []span) string {
	var b strings.Builder
	for i := range len(content) {
		if !slices.ContainsFunc(gone, func(s span) bool { return s.start <= i && i < s.end }) {
			b.WriteByte(content[i])
		}
	}
	return b.String()
}

// equalsWithout reports whether after says the same as d without member i of c.
func (d document) equalsWithout(c *node, i int, after string) bool {
	again, err := parse(after)
	if err != nil {
		return false
	}
	all := c.members
	defer func() { c.members = all }()
	c.members = slices.Delete(slices.Clone(all), i, i+1)
	return minify(d.content, d.root) == minify(after, again)
}

// replaceMember writes v in the place of member i of the container at path.
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
	again, err := parse(after)
	if err != nil {
		return "", err
	}
	now := again.lookup(path...)
	if len(now.members) != len(c.members) || minify(after, now.members[i].value) != minifyValue(v) {
		return "", errors.New("the entry can't be replaced without changing others; nothing was written")
	}
	now.members = slices.Delete(now.members, i, i+1)
	c.members = slices.Delete(slices.Clone(c.members), i, i+1)
	if minify(content, root) != minify(after, again) {
		return "", errors.New("the entry can't be replaced without changing others; nothing was written")
	}
	return after, nil
}

// removeCreatedParents takes out what insert made on the way to an entry, as far as it is empty
// again: the innermost first, and plain values only with the last of the rest.
// Paths that lead nowhere any more are forgotten.
func removeCreatedParents(content string, t *insertion) (string, error) {
	deepest := 0
	for _, path := range t.Created {
		deepest = max(deepest, len(path))
	}
	var err error
	for _, scalars := range []bool{false, true} {
		for depth := deepest; depth > 0; depth-- {
			for _, path := range slices.Backward(slices.Clone(t.Created)) {
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

// removeCreatedParent takes out one container, or one plain value.
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
	case scalar && slices.ContainsFunc(t.Created, func(p []string) bool { return isContainer(root.lookup(p...)) }):
		return content, nil // others use what we made: they may need it
	case !scalar && !isEmpty(content, n):
		return content, nil
	default:
		parent := path[:len(path)-1]
		if content, err = cutMember(content, parent, root.lookup(parent...).index(path[len(path)-1]), t); err != nil {
			return "", err
		}
	}
	t.Created = withoutPath(t.Created, path)
	return content, nil
}

// isEmpty reports whether there is nothing in n, not even a comment.
func isEmpty(content string, n *node) bool {
	return len(n.members) == 0 && strings.TrimSpace(content[n.start+1:n.end-1]) == ""
}

func isContainer(n *node) bool { return n != nil && (n.kind == kindObject || n.kind == kindArray) }
