package httpapi

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/httpapi/assets"
)

// TestAPIDocs_HaveSeparateCSP checks that only the API reference has the weaker policy.
func TestAPIDocs_HaveSeparateCSP(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) {
		c.Assets = fstest.MapFS{
			"index.html": {Data: []byte(indexHTML)}, "docs/index.html": {Data: []byte("<title>API</title>")}, "docs/docs.js": {Data: []byte("1")},
		}
	})
	for _, path := range []string{"/docs/api", "/docs/index.html"} {
		resp, b := r.do("GET", path, "", "Accept", "text/html", "Accept-Encoding", "identity")
		require.Equal(t, "<title>API</title>", string(b), path)
		require.Equal(t, "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
		policy := resp.Header.Values("Content-Security-Policy")
		require.Equal(t, []string{assets.APIPolicy}, policy)
		require.NotContains(t, policy[0], "unsafe")
		require.Contains(t, policy[0], "frame-ancestors 'none'")
	}
	for _, path := range []string{"/", "/docs/docs.js"} {
		resp, _ := r.do("GET", path, "", "Accept", "text/html")
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "require-trusted-types-for", path)
	}
}

// TestDocs_AreServed reads the documentation as a browser and as a program does.
func TestDocs_AreServed(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *Config) {
		c.Assets = fstest.MapFS{"index.html": {Data: []byte(indexHTML)}, "docs/guide.css": {Data: []byte("a{}")}}
	})
	for path, want := range map[string]struct {
		status          int
		mediaType, text string
	}{
		"/docs":                 {200, "text/html", "<h1>Documentation</h1>"},
		"/docs/":                {200, "text/html", "<h1>Documentation</h1>"},
		"/docs/quickstart":      {200, "text/html", "hookback up"},
		"/docs/votes":           {200, "text/html", `id="your-own-page"`}, // the problem self_approval names it
		"/docs/quickstart.md":   {200, "text/markdown", "# Quickstart"},
		"/docs/search?q=hubin_": {200, "text/html", "<mark>hubin_</mark>"},
		"/docs/search":          {200, "text/html", "<h1>Documentation</h1>"},
		"/docs/nothing":         {404, "text/html", "Page not found"},
		"/docs/nothing.md":      {404, "text/html", "Page not found"},
		"/docs/a/b":             {404, "text/html", "Page not found"},
		"/docs/guide.css":       {200, "text/css", "a{}"},
	} {
		for _, accept := range []string{"text/html", "*/*"} {
			resp, b := r.do("GET", path, "", "Accept", accept, "Accept-Encoding", "identity")
			require.Equal(t, want.status, resp.StatusCode, path)
			require.Contains(t, resp.Header.Get("Content-Type"), want.mediaType, path)
			require.Contains(t, string(b), want.text, path)
		}
	}
	resp, _ := r.do("GET", "/docs/quickstart", "")
	require.Equal(t, assets.DocsPolicy, resp.Header.Get("Content-Security-Policy"))
	require.NotContains(t, assets.DocsPolicy, "unsafe")
	resp, b := r.do("GET", "/docs/quickstart", "", "If-None-Match", resp.Header.Get("Etag"))
	require.Equal(t, 304, resp.StatusCode)
	require.Empty(t, b)
	resp, _ = r.do("POST", "/docs/quickstart", "{}", "Accept", "text/html")
	require.Equal(t, 405, resp.StatusCode)
}
