package middleware

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/schema"
)

const (
	// initialBodyBuffer is the initial buffer size for a body. The buffer grows as data
	// arrives. fasthttp would allocate the whole announced Content-Length at once.
	initialBodyBuffer = 16 << 10
	// maxPooledBody is the largest buffer that is kept for another request.
	maxPooledBody = 64 << 10
)

// BodyLimiter reads request bodies within a byte budget that all concurrent requests share.
// A body that exceeds the budget is rejected with ErrBusy (503).
type BodyLimiter struct {
	pool     sync.Pool    // of *[]byte
	reserved atomic.Int64 // bytes by which bodies have outgrown their first buffers
	limit    int64        // the byte budget: the maximum of reserved
}

// NewBodyLimiter returns a limiter with a budget in bytes.
func NewBodyLimiter(budget int64) *BodyLimiter { return &BodyLimiter{limit: budget} }

// Reserved returns the number of bytes in use.
func (s *BodyLimiter) Reserved() int64 { return s.reserved.Load() }

// Limit reads the whole body before any other handler runs. The HTTP server would parse
// an unread rest as the next request (request smuggling).
func (s *BodyLimiter) Limit(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		stream := ctx.RequestBodyStream()
		if stream == nil {
			next(ctx)
			return
		}
		buf, ok := s.pool.Get().(*[]byte)
		if !ok {
			b := make([]byte, 0, initialBodyBuffer)
			buf = &b
		}
		body, err := s.read(stream, (*buf)[:0], ctx.Request.Header.ContentLength())
		defer s.release(buf, body)
		if err != nil {
			writeBodyError(ctx, err)
			return
		}
		ctx.Request.SetBodyRaw(bytes.TrimPrefix(body, []byte("\ufeff"))) // the byte order mark of files that PowerShell writes
		next(ctx)
		ctx.Request.ResetBody()
	}
}

// RejectTwoLengths rejects a request with both Content-Length and Transfer-Encoding and closes
// the connection. Programs disagree about the end of such a request (request smuggling), and
// fasthttp ignores one of the headers, so the raw header is read.
func RejectTwoLengths(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		raw := ctx.Request.Header.RawHeaders()
		if hasRawHeader(raw, fiber.HeaderTransferEncoding) && hasRawHeader(raw, fiber.HeaderContentLength) {
			ctx.SetConnectionClose()
			WriteStatusError(ctx, http.StatusBadRequest)
			return
		}
		next(ctx)
	}
}

// hasRawHeader reports whether one of the lines of raw is the header.
func hasRawHeader(raw []byte, header string) bool {
	for line := range bytes.Lines(raw) {
		if len(line) > len(header) && line[len(header)] == ':' && strings.EqualFold(string(line[:len(header)]), header) {
			return true
		}
	}
	return false
}

// read reads a body of contentLength bytes, or a chunked one (-1), into b. It returns the
// buffer, which may be a new one, also with an error: ErrTooLarge beyond MaxBody, ErrBusy
// beyond the budget.
func (s *BodyLimiter) read(r io.Reader, b []byte, contentLength int) ([]byte, error) {
	if contentLength > schema.MaxBody {
		return b, schema.ErrTooLarge
	}
	maxSize := contentLength
	if contentLength < 0 {
		maxSize = schema.MaxBody + 1
	}
	for {
		if len(b) == cap(b) {
			newCap := min(2*cap(b), max(maxSize, cap(b)+1))
			if s.reserved.Add(int64(newCap-cap(b))) > s.limit {
				s.reserved.Add(int64(cap(b) - newCap))
				return b, schema.ErrBusy
			}
			b = append(make([]byte, 0, newCap), b...)
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > schema.MaxBody:
			return b, schema.ErrTooLarge
		case errors.Is(err, io.EOF) && len(b) < contentLength:
			return b, io.ErrUnexpectedEOF
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

// release returns the budget that body used and puts its buffer into the pool. initial is
// the buffer that was passed to read.
func (s *BodyLimiter) release(initial *[]byte, body []byte) {
	if s.reserved.Add(int64(cap(*initial) - cap(body))); cap(body) <= maxPooledBody {
		*initial = body
	}
	s.pool.Put(initial)
}

// writeBodyError rejects a request whose body could not be read. It closes the connection,
// because the peer may still be sending the body.
func writeBodyError(ctx *fasthttp.RequestCtx, err error) {
	ctx.SetConnectionClose()
	switch {
	case errors.Is(err, schema.ErrTooLarge):
		WriteStatusError(ctx, http.StatusRequestEntityTooLarge)
	case errors.Is(err, schema.ErrBusy):
		WriteStatusError(ctx, http.StatusServiceUnavailable)
	case errors.Is(err, os.ErrDeadlineExceeded):
		WriteStatusError(ctx, http.StatusRequestTimeout)
	default:
		WriteStatusError(ctx, http.StatusBadRequest)
	}
}
