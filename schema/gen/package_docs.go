package main

import (
	"bytes"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// packagePages are the documents that repeat the comment of a package: Go file → Markdown file, title.
var packagePages = []struct{ source, page, title string }{
	{"agentclient/doc.go", "server/docs/guide/go.md", "Ask from Go"},
	{"schema/doc.go", "server/docs/guide/protocol.md", "The protocol"},
}

// packageDocs returns the documents of packagePages by path.
func packageDocs(root string) (map[string][]byte, error) {
	pages := map[string][]byte{}
	for _, p := range packagePages {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, p.source), nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return nil, err
		}
		printer := (&doc.Package{}).Printer()
		printer.HeadingLevel = 2
		printer.HeadingID = func(*comment.Heading) string { return "" }
		printer.DocLinkURL = func(link *comment.DocLink) string { return link.DefaultURL("https://pkg.go.dev") }
		var parser comment.Parser
		body := printer.Markdown(parser.Parse(file.Doc.Text()))
		var b bytes.Buffer
		b.WriteString("# " + p.title + "\n\n<!-- Generated from " + p.source + ". -->\n\n")
		b.WriteString(strings.TrimSpace(string(body)) + "\n")
		pages[p.page] = b.Bytes()
	}
	return pages, nil
}
