package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// dashboardCSP is the dashboard's content security policy. It allows only the hub's own
// resources.
var dashboardCSP = strings.Join([]string{
	"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'",
	"connect-src 'self'", "manifest-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'none'",
	"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types svelte-trusted-html hookback-worker",
}, "; ")

// PagePolicy returns the content security policy of a page of the dashboard, which allows its inline scripts by
// their hashes.
func PagePolicy(page []byte) string {
	allowed := "script-src 'self'"
	for _, script := range inlineScript.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(script[1])
		allowed += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Replace(dashboardCSP, "script-src 'self'", allowed, 1)
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// securityHeaders are set on every response, as canonical names and values.
var securityHeaders = [][2][]byte{
	{[]byte(fiber.HeaderContentSecurityPolicy), []byte(dashboardCSP)},
	{[]byte(fiber.HeaderXContentTypeOptions), []byte("nosniff")},
	{[]byte(fiber.HeaderReferrerPolicy), []byte("no-referrer")},
	{[]byte("Cross-Origin-Opener-Policy"), []byte("same-origin")},
	{[]byte("Cross-Origin-Resource-Policy"), []byte("same-origin")},
	{[]byte(fiber.HeaderCacheControl), []byte("no-store")}, // the dashboard's files override it
}

// AddSecurityHeaders is the middleware that adds the headers to every response.
func AddSecurityHeaders(c *fiber.Ctx) error {
	WriteSecurityHeaders(c.Context())
	return c.Next()
}

// WriteSecurityHeaders sets the headers of a response that no middleware sees.
func WriteSecurityHeaders(ctx *fasthttp.RequestCtx) {
	for _, h := range securityHeaders {
		ctx.Response.Header.SetCanonical(h[0], h[1])
	}
}
