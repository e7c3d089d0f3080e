package httpapi

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestDocs_AreServed reads the documents as a browser and as a program do.
func TestDocs_AreServed(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) { c.Assets = fstest.MapFS{"index.html": {Data: []byte(indexHTML)}} })
	for _, path := range []string{"/docs", "/docs/", "/docs/quickstart", "/docs/api", "/docs/search?q=x", "/docs/nothing", "/licenses"} {
		resp, b := r.do("GET", path, "", "Accept", "text/html", "Accept-Encoding", "identity")
		require.Equal(t, 200, resp.StatusCode, path)
		require.Equal(t, indexHTML, string(b), path)
	}
	for path, text := range map[string]string{
		"/docs": "# Documentation", "/docs/": "# Documentation", "/docs/quickstart": "# Quickstart", "/docs/quickstart.md": "# Quickstart",
		"/docs/votes": "## Your own page", // the problem self_approval names it
	} {
		resp, b := r.do("GET", path, "", "Accept", "*/*")
		require.Equal(t, 200, resp.StatusCode, path)
		require.Equal(t, "text/markdown; charset=utf-8", resp.Header.Get("Content-Type"), path)
		require.Contains(t, string(b), text, path)
	}
	for _, path := range []string{"/docs/nothing", "/docs/nothing.md", "/docs/a/b", "/docsquickstart"} {
		resp, _ := r.do("GET", path, "", "Accept", "*/*")
		require.Equal(t, 404, resp.StatusCode, path)
	}
	resp, _ := r.do("POST", "/docs/quickstart", "{}", "Accept", "text/html")
	require.Equal(t, 405, resp.StatusCode)
}
