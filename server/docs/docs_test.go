package docs_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/docs"
)

func load(t *testing.T) *docs.Site {
	t.Helper()
	site, err := docs.Load()
	require.NoError(t, err)
	return site
}

func TestSite_HasEveryDocument(t *testing.T) {
	t.Parallel()
	site := load(t)
	files, err := docs.Files()
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".md")
		if name == "README" {
			continue // the index of the repository
		}
		_, err := site.Markdown(name)
		require.NoError(t, err, "%s is not in the index of docs.go", file)
	}
}

var (
	link = regexp.MustCompile(`href="(/docs/[^"#]*|)(?:#([^"]*))?"`)
	id   = regexp.MustCompile(` id="([^"]+)"`)
)

func TestSite_LinksResolve(t *testing.T) {
	t.Parallel()
	site := load(t)
	ids := map[string]string{} // page: its ids
	pages := map[string]string{}
	for _, g := range site.Groups {
		for _, p := range g.Pages {
			html, err := site.Page(p.Name)
			require.NoError(t, err)
			require.NotEmpty(t, p.Title, p.Name)
			pages[p.Name] = string(html)
			for _, m := range id.FindAllStringSubmatch(string(html), -1) {
				ids[p.Name] += " " + m[1] + " "
			}
		}
	}
	for name, html := range pages {
		_, main, found := strings.Cut(html, `<main`)
		require.True(t, found)
		for _, m := range link.FindAllStringSubmatch(main, -1) {
			target := strings.TrimPrefix(m[1], "/docs/")
			if target == "" {
				target = name
			}
			if strings.HasSuffix(target, ".md") || target == "api" {
				continue
			}
			require.Contains(t, pages, target, "%s links to %s", name, m[1])
			if m[2] != "" {
				require.Contains(t, ids[target], " "+m[2]+" ", "%s links to %s#%s", name, m[1], m[2])
			}
		}
	}
}

func TestPage_UnknownShowsIndex(t *testing.T) {
	t.Parallel()
	site := load(t)
	html, err := site.Page("nothing")
	require.ErrorIs(t, err, docs.ErrNoPage)
	require.Contains(t, string(html), "Page not found")
	require.Contains(t, string(html), `href="/docs/quickstart"`)
	_, err = site.Markdown("../docs")
	require.ErrorIs(t, err, docs.ErrNoPage)
}

func TestSearch_FindsSections(t *testing.T) {
	t.Parallel()
	site := load(t)
	found := site.Search("QUORUM votes")
	require.NotEmpty(t, found)
	for _, r := range found {
		require.Contains(t, r.Address, "/docs/"+r.Page.Name)
	}
	titled := site.Search("trusted hub")
	require.Equal(t, "The trusted hub", titled[0].Title, "a title with the words comes first")
	require.Equal(t, "/docs/agents#the-trusted-hub", titled[0].Address)
	require.Empty(t, site.Search(""))
	require.Empty(t, site.Search("zzqqxx"))
	require.NotEmpty(t, site.Search(strings.Repeat("a ", 5000)), "only the start of a long query counts")
}

func TestSearchPage_EscapesQuery(t *testing.T) {
	t.Parallel()
	html, err := load(t).SearchPage(`"><script>alert(1)</script>`)
	require.NoError(t, err)
	require.NotContains(t, string(html), "<script>alert")
	require.Contains(t, string(html), "0 sections have")
}
