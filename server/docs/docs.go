// Package docs has the documents of this folder, which the hub serves at /docs. They are embedded, so
// they match the running version and need no network.
package docs

import (
	"cmp"
	"embed"
	"strings"
)

// Path is the address of the index, README.md. A document is at Path/NAME: its Markdown, or the
// dashboard's page that shows it. Path/NAME.md always has the Markdown.
const Path = "/docs"

//go:embed *.md guide/*.md
var files embed.FS

// Markdown returns the document at a path below Path, or fs.ErrNotExist.
func Markdown(path string) ([]byte, error) {
	name := cmp.Or(strings.TrimSuffix(strings.Trim(path, "/"), ".md"), "README") + ".md"
	if source, err := files.ReadFile(name); err == nil {
		return source, nil
	}
	return files.ReadFile("guide/" + name)
}
