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
	for _, path := range []string{"/docs", "/docs/index.html"} {
		resp, b := r.do("GET", path, "", "Accept", "text/html", "Accept-Encoding", "identity")
		require.Equal(t, "<title>API</title>", string(b), path)
		require.Equal(t, "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
		policy := resp.Header.Values("Content-Security-Policy")
		require.Equal(t, []string{assets.DocsPolicy}, policy)
		require.NotContains(t, policy[0], "unsafe")
		require.Contains(t, policy[0], "frame-ancestors 'none'")
	}
	for _, path := range []string{"/", "/docs/docs.js", "/docs/nothing"} {
		resp, _ := r.do("GET", path, "", "Accept", "text/html")
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "require-trusted-types-for", path)
	}
}
