package scripts_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A link in Markdown: its target without a fragment.
var markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// A code span that names a path of this repository.
var pathSpan = regexp.MustCompile("`((?:schema|agentclient|server|dashboard|scripts|\\.github)/[\\w./-]+)`")

// documents lists the Markdown files that people write, relative to the root.
func documents(t *testing.T) []string {
	files := sources(t, ".md")
	require.Contains(t, files, "README.md")
	require.Contains(t, files, ".github/CONTRIBUTING.md")
	return files
}

func TestDocuments_LinksResolve(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		for _, link := range markdownLink.FindAllStringSubmatch(string(read(t, file)), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			target := path.Join(path.Dir(file), link[1])
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(target)))
			require.NoError(t, err, "%s links to %s", file, link[1])
		}
	}
}

func TestDocuments_PathsExist(t *testing.T) {
	t.Parallel()
	for _, file := range documents(t) {
		for _, span := range pathSpan.FindAllStringSubmatch(string(read(t, file)), -1) {
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(span[1])))
			require.NoError(t, err, "%s names %s", file, span[1])
		}
	}
}

func TestReadme_IsShort(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, strings.Count(string(read(t, "README.md")), "\n"), 150)
}

// The hub serves the comparison, too.
func TestComparison_IsTheSameInReadmeAndGuide(t *testing.T) {
	t.Parallel()
	table := regexp.MustCompile(`(?m)^\| \| Hookback \|.*\n(?:\|.*\n)+`)
	want := table.FindString(string(read(t, "README.md")))
	require.NotEmpty(t, want)
	require.Equal(t, want, table.FindString(string(read(t, "server/docs/guide/compare.md"))))
}

func TestGuide_PagesAreShort(t *testing.T) {
	t.Parallel()
	pages := 0
	for _, file := range documents(t) {
		if path.Dir(file) == "server/docs/guide" {
			pages++
			require.LessOrEqual(t, strings.Count(string(read(t, file)), "\n"), 160, "%s: split it", file)
		}
	}
	require.Greater(t, pages, 15)
}

func TestPackageMap_ListsEveryPackage(t *testing.T) {
	t.Parallel()
	packages, err := modulePackages()
	require.NoError(t, err)
	require.NotEmpty(t, packages)
	list := string(read(t, "server/docs/package-map.md"))
	for _, p := range packages {
		require.Contains(t, list, "\n| `"+p.short()+"` |", "server/docs/package-map.md does not list %s", p.short())
	}
}

// Every decision record has its sections, its own number, and one row in the index.
func TestDecisions_AreComplete(t *testing.T) {
	t.Parallel()
	const folder = "server/docs/decisions"
	index := string(read(t, folder+"/README.md"))
	entries, err := fs.ReadDir(os.DirFS(root), folder)
	require.NoError(t, err)
	numbers := map[string]string{}
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		number, _, ok := strings.Cut(e.Name(), "-")
		require.True(t, ok && len(number) == 4, "%s: the name of a record is NNNN-title.md", e.Name())
		require.Empty(t, numbers[number], "%s has the number of %s", e.Name(), numbers[number])
		numbers[number] = e.Name()
		text := string(read(t, folder+"/"+e.Name()))
		require.True(t, strings.HasPrefix(text, "# "+number+". "), e.Name())
		for _, part := range []string{"\n- Number: " + number + "\n", "\n- Status: ", "\n## Context\n", "\n## Decision\n", "\n## Consequences\n"} {
			require.Contains(t, text, part, e.Name())
		}
		require.Equal(t, 1, strings.Count(index, "["+number+"]("+e.Name()+")"), "%s is not in the index once", e.Name())
	}
	require.NotEmpty(t, numbers)
}
