package middleware_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

func TestPagePolicy_AllowsInlineScriptsByHash(t *testing.T) {
	t.Parallel()
	require.Contains(t, middleware.PagePolicy([]byte(`<script type="module" src="/a.js"></script>`)), "script-src 'self';")
	require.Contains(t, middleware.PagePolicy([]byte("<script>alert(1)</script><script type=\"module\" src=\"/a.js\"></script>")),
		"script-src 'self' 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=';")
}
