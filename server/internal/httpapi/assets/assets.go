// Package assets serves the files of the dashboard, compressed, and the documents.
package assets

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/docs"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

const indexFile = "/index.html"

// Files are the dashboard's files. Fiber's own file handlers support neither content hashes nor
// embedded files without a modification time.
type Files struct {
	files map[string]*asset // by path
}

type asset struct {
	mediaType    string
	cacheControl string
	csp          string         // of index.html, whose inline script it allows by its hash
	content      func() content // reads it once
}

type content struct {
	etag         string // of plain, without quotes
	plain        []byte
	brotli, gzip []byte // nil if the build has no compressed file
}

var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".json": "application/json",
	".webmanifest": "application/manifest+json", ".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
}

// Load lists the files of root, and reads each at its first request, with its compressed forms NAME.br and
// NAME.gz: the start of the hub reads none of some hundred. A nil root has no files.
func Load(root fs.FS) *Files {
	a := &Files{files: map[string]*asset{}}
	if root == nil {
		return a
	}
	// An embedded file system does not fail; a broken one is treated as empty.
	_ = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path.Base(name), ".") || isCompressed(name) {
			return err
		}
		a.files["/"+name] = newAsset(root, name)
		return nil
	})
	return a
}

func isCompressed(name string) bool { return path.Ext(name) == ".br" || path.Ext(name) == ".gz" }

func newAsset(root fs.FS, name string) *asset {
	f := &asset{mediaType: mediaTypes[path.Ext(name)], cacheControl: "no-cache", content: sync.OnceValue(func() content {
		plain, _ := fs.ReadFile(root, name)
		brotli, _ := fs.ReadFile(root, name+".br")
		gzip, _ := fs.ReadFile(root, name+".gz")
		sum := sha256.Sum256(plain)
		return content{etag: hex.EncodeToString(sum[:12]), plain: plain, brotli: brotli, gzip: gzip}
	})}
	f.mediaType = cmp.Or(f.mediaType, "application/octet-stream")
	if "/"+name == indexFile {
		f.csp = middleware.PagePolicy(f.content().plain)
	}
	if strings.HasPrefix(name, "assets/") { // the name contains a content hash
		f.cacheControl = "public, max-age=31536000, immutable"
	}
	return f
}

// Page identifies the dashboard's version; empty: there is no dashboard.
func (a *Files) Page() string {
	if index := a.files[indexFile]; index != nil {
		return index.content().etag
	}
	return ""
}

// Serve handles every path outside the API: a file of the dashboard, or index.html for
// a path that is one of its screens.
func (a *Files) Serve(c *fiber.Ctx) error {
	if methods := middleware.APIMethods(c.Path()); methods != nil && !middleware.IsPageRequest(c) {
		c.Set(fiber.HeaderAllow, strings.Join(methods, ", "))
		return schema.ErrMethod
	}
	isRead := c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead
	file := a.files[c.Path()]
	if file == nil && middleware.IsPageRequest(c) {
		file = a.files[indexFile]
	}
	switch {
	case file == nil && isRead && strings.HasPrefix(c.Path()+"/", docs.Path+"/"):
		return sendDocument(c)
	case file == nil:
		return schema.ErrNoRoute
	case !isRead:
		c.Set(fiber.HeaderAllow, "GET, HEAD")
		return schema.ErrMethod
	default:
		return file.send(c)
	}
}

func sendDocument(c *fiber.Ctx) error {
	source, err := docs.Markdown(strings.TrimPrefix(c.Path(), docs.Path))
	if err != nil {
		return schema.ErrNoRoute
	}
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Set(fiber.HeaderContentType, "text/markdown; charset=utf-8")
	return c.Send(source)
}

func (f *asset) send(c *fiber.Ctx) error {
	content := f.content()
	body, etag := content.plain, content.etag
	accept := c.Get(fiber.HeaderAcceptEncoding)
	switch {
	case content.brotli != nil && acceptsEncoding(accept, "br"):
		body, etag = content.brotli, etag+"-br"
		c.Set(fiber.HeaderContentEncoding, "br")
	case content.gzip != nil && acceptsEncoding(accept, "gzip"):
		body, etag = content.gzip, etag+"-gz"
		c.Set(fiber.HeaderContentEncoding, "gzip")
	}
	if f.csp != "" {
		c.Set(fiber.HeaderContentSecurityPolicy, f.csp)
	}
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	c.Set(fiber.HeaderCacheControl, f.cacheControl)
	c.Set(fiber.HeaderETag, `"`+etag+`"`)
	if strings.Contains(c.Get(fiber.HeaderIfNoneMatch), `"`+etag+`"`) {
		c.Response().Header.Del(fiber.HeaderContentEncoding)
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, f.mediaType)
	c.Response().SetBodyRaw(body)
	return nil
}

// acceptsEncoding reports whether an Accept-Encoding header allows the encoding.
func acceptsEncoding(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			q = strings.ReplaceAll(q, " ", "")
			return q != "q=0" && q != "q=0.0"
		}
	}
	return false
}
