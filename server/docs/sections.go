package docs

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// A section is a heading and the text below it, until the next heading.
type section struct {
	title, id string
	text      string
	folded    string // title and text in lower case
}

// sections splits a document at its headings. It returns at least one section.
func sections(root ast.Node, source []byte) []section {
	var all []section
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok && len(all) == 0 {
			all = append(all, section{})
		}
		if !ok {
			all[len(all)-1].text += plain(n, source) + " "
			continue
		}
		id, _ := h.AttributeString("id")
		name, _ := id.([]byte)
		all = append(all, section{title: plain(h, source), id: string(name)})
	}
	if len(all) == 0 {
		all = append(all, section{})
	}
	for i := range all {
		all[i].text = strings.Join(strings.Fields(all[i].text), " ")
		all[i].folded = strings.ToLower(all[i].title + "\n" + all[i].text)
	}
	return all
}

// plain returns the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function does not fail
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(util.UnescapePunctuations(n.Segment.Value(source)))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}
