// Package assets serves the files of the dashboard, compressed, and the documentation.
package assets

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

const indexFile = "/index.html"

// Files are the dashboard's files, read once at startup. Fiber's own file handlers
// support neither content hashes nor embedded files without a modification time.
type Files struct {
	Ready chan struct{}     // closed when compression is complete or was canceled
	files map[string]*asset // by path
}

type asset struct {
	mediaType    string
	cacheControl string
	csp          string // overrides the dashboard's content security policy; empty: no override
	etag         string // of the uncompressed content, without quotes
	content      []byte
	compressed   atomic.Pointer[compressedAsset] // nil until compressed, and forever if compression does not help
}

type compressedAsset struct{ gzip, brotli []byte }

var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".json": "application/json",
	".webmanifest": "application/manifest+json", ".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
}

// Load reads every file of root and compresses the files in the background until ctx
// ends. A nil root has no files.
func Load(ctx context.Context, root fs.FS) *Files {
	a := &Files{files: map[string]*asset{}, Ready: make(chan struct{})}
	if root != nil {
		// An embedded file system does not fail; a broken one is treated as empty.
		_ = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(path.Base(name), ".") {
				return err
			}
			b, err := fs.ReadFile(root, name)
			if err == nil {
				a.files["/"+name] = newAsset("/"+name, b)
			}
			return err
		})
	}
	go func() {
		defer close(a.Ready)
		a.compressAll(ctx)
		// Startup (compression and migrations) needs more memory than the hub uses for
		// hours afterwards. Return it to the system.
		debug.FreeOSMemory()
	}()
	return a
}

func (a *Files) compressAll(ctx context.Context) {
	p := newCompressor()
	for _, name := range a.compressionOrder() {
		if ctx.Err() != nil { // a hub stopped during startup must not wait for compression
			return
		}
		p.compress(a.files[name])
	}
}

// compressionOrder returns the paths of all files: first those that index.html names, because a page
// that opens right after the start of the hub loads them.
func (a *Files) compressionOrder() []string {
	var index []byte
	if f := a.files[indexFile]; f != nil {
		index = f.content
	}
	rank := func(name string) int {
		if bytes.Contains(index, []byte(name)) {
			return 0
		}
		return 1
	}
	names := slices.Sorted(maps.Keys(a.files))
	slices.SortStableFunc(names, func(x, y string) int { return rank(x) - rank(y) })
	return names
}

func newAsset(name string, b []byte) *asset {
	sum := sha256.Sum256(b)
	f := &asset{content: b, etag: hex.EncodeToString(sum[:12]), mediaType: mediaTypes[path.Ext(name)], cacheControl: "no-cache"}
	if f.mediaType == "" {
		f.mediaType = "application/octet-stream"
	}
	if name == apiFile {
		f.csp = APIPolicy
	}
	if strings.HasPrefix(name, "/assets/") { // the name contains a content hash
		f.cacheControl = "public, max-age=31536000, immutable"
	}
	return f
}

// Page identifies the dashboard's version; empty: there is no dashboard.
func (a *Files) Page() string {
	if index := a.files[indexFile]; index != nil {
		return index.etag
	}
	return ""
}

// compressor compresses one file after another in the same buffers: brotli alone needs
// about 20 MiB, which would dominate the memory of an idle hub.
type compressor struct {
	gzipBuf, brotliBuf bytes.Buffer
	gzip               *gzip.Writer
	brotli             *brotli.Writer
}

func newCompressor() *compressor {
	p := &compressor{}
	p.gzip, _ = gzip.NewWriterLevel(&p.gzipBuf, gzip.BestCompression) // cannot fail: the level is valid
	p.brotli = brotli.NewWriterOptions(&p.brotliBuf, brotli.WriterOptions{Quality: 9, LGWin: 18})
	return p
}

// compress sets f.compressed if both encodings are smaller than the content.
func (p *compressor) compress(f *asset) {
	p.gzipBuf.Reset()
	p.brotliBuf.Reset()
	p.gzip.Reset(&p.gzipBuf)
	p.brotli.Reset(&p.brotliBuf)
	for _, w := range []io.WriteCloser{p.gzip, p.brotli} {
		_, _ = w.Write(f.content) // writes to a buffer cannot fail
		_ = w.Close()
	}
	if p.gzipBuf.Len() < len(f.content) && p.brotliBuf.Len() < len(f.content) {
		f.compressed.Store(&compressedAsset{gzip: bytes.Clone(p.gzipBuf.Bytes()), brotli: bytes.Clone(p.brotliBuf.Bytes())})
	}
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
	if c.Path() == apiPath {
		file = a.files[apiFile]
	}
	if isRead && file == nil && isDocs(c.Path()) {
		return serveDocs(c)
	}
	if file == nil && middleware.IsPageRequest(c) {
		file = a.files[indexFile]
	}
	switch {
	case file == nil:
		return schema.ErrNoRoute
	case !isRead:
		c.Set(fiber.HeaderAllow, "GET, HEAD")
		return schema.ErrMethod
	default:
		return file.send(c)
	}
}

func (f *asset) send(c *fiber.Ctx) error {
	body, etag := f.content, f.etag
	if p := f.compressed.Load(); p != nil {
		accept := c.Get(fiber.HeaderAcceptEncoding)
		switch {
		case acceptsEncoding(accept, "br"):
			body, etag = p.brotli, etag+"-br"
			c.Set(fiber.HeaderContentEncoding, "br")
		case acceptsEncoding(accept, "gzip"):
			body, etag = p.gzip, etag+"-gz"
			c.Set(fiber.HeaderContentEncoding, "gzip")
		}
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
