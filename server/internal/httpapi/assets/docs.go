package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/server/docs"
)

const (
	// apiPath serves the API explorer: Swagger UI rendering PathOpenAPI.
	apiPath    = docs.Path + "/api"
	apiFile    = docs.Path + "/index.html"
	searchPath = docs.Path + "/search"
)

// APIPolicy is the content security policy of the API explorer. It is the dashboard's policy
// without Trusted Types, because Swagger UI assigns markup as strings.
var APIPolicy = strings.Join([]string{
	"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'",
	"connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
}, "; ")

// DocsPolicy is the content security policy of the documentation, whose search is a form.
var DocsPolicy = strings.Join([]string{
	"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "base-uri 'none'",
	"form-action 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
}, "; ")

// isDocs reports whether the documentation answers for a path, unless a file has it.
func isDocs(path string) bool {
	return path == docs.Path || strings.HasPrefix(path, docs.Path+"/")
}

// serveDocs sends a page of the documentation, its Markdown, or the results of a search.
func serveDocs(c *fiber.Ctx) error {
	site, err := docs.Load()
	if err != nil {
		return err
	}
	name := strings.Trim(strings.TrimPrefix(c.Path(), docs.Path), "/")
	source, isMarkdown := strings.CutSuffix(name, ".md")
	var body []byte
	switch {
	case c.Path() == searchPath:
		body, err = site.SearchPage(c.Query("q"))
	case isMarkdown:
		if body, err = site.Markdown(source); err == nil {
			return sendDocs(c, body, "text/markdown; charset=utf-8")
		}
		body, err = site.Page(name)
	default:
		body, err = site.Page(name)
	}
	if errors.Is(err, docs.ErrNoPage) {
		c.Status(fiber.StatusNotFound)
	} else if err != nil {
		return err
	}
	return sendDocs(c, body, "text/html; charset=utf-8")
}

func sendDocs(c *fiber.Ctx, body []byte, mediaType string) error {
	sum := sha256.Sum256(body)
	etag := `"` + hex.EncodeToString(sum[:12]) + `"`
	c.Set(fiber.HeaderContentSecurityPolicy, DocsPolicy)
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Set(fiber.HeaderETag, etag)
	if c.Response().StatusCode() == fiber.StatusOK && strings.Contains(c.Get(fiber.HeaderIfNoneMatch), etag) {
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, mediaType)
	return c.Send(body)
}
