package docs_test

import (
	"io/fs"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/docs"
)

// The dashboard lists the documents by the links of the index.
func TestIndex_HasEveryDocument(t *testing.T) {
	t.Parallel()
	index, err := docs.Markdown("")
	require.NoError(t, err)
	files, err := fs.Glob(os.DirFS("."), "*.md")
	require.NoError(t, err)
	guide, err := fs.Glob(os.DirFS("."), "guide/*.md")
	require.NoError(t, err)
	for _, file := range append(files, guide...) {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		title := regexp.MustCompile(`(?m)^# (.+)$`).FindSubmatch(source)
		require.NotNil(t, title, file)
		if file != "README.md" {
			require.Contains(t, string(index), "- ["+string(title[1])+"]("+file+")")
		}
	}
}

func TestMarkdown_FindsDocumentsByName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"": "# Documentation", "/": "# Documentation", "/quickstart": "# Quickstart", "/quickstart.md": "# Quickstart",
		"/guide/quickstart.md": "# Quickstart", "/glossary": "# Glossary",
	} {
		source, err := docs.Markdown(path)
		require.NoError(t, err, path)
		require.Contains(t, string(source), want, path)
	}
	for _, path := range []string{"/nothing", "/a/b", "/../docs.go", "/decisions/README.md", "/page.tmpl"} {
		_, err := docs.Markdown(path)
		require.ErrorIs(t, err, fs.ErrNotExist, path)
	}
}
