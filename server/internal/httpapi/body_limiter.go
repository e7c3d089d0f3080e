package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/schema"
)

const (
	// initialBodyBuffer is the room a body gets before any of it has arrived. More it gets
	// when it fills that: fasthttp makes room for all that a request announces.
	initialBodyBuffer = 16 << 10
	// maxPooledBody is the biggest room worth keeping for another request.
	maxPooledBody = 64 << 10
)

// bodyLimiter are those that are arriving or being worked on.
type bodyLimiter struct {
	pool     sync.Pool    // :: *[]byte
	reserved atomic.Int64 // beyond initialBodyBuffer each
	limit    int64        // of taken
}

// limitBody reads the request's body before anything else looks at the request: one
// that is not read to its end would be taken for the next request.
func (s *Server) limitBody(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		stream := ctx.RequestBodyStream()
		if stream == nil {
			next(ctx)
			return
		}
		buf, ok := s.bodies.pool.Get().(*[]byte)
		if !ok {
			b := make([]byte, 0, initialBodyBuffer)
			buf = &b
		}
		body, err := s.bodies.read(stream, (*buf)[:0], ctx.Request.Header.ContentLength())
		defer s.bodies.release(buf, body)
		if err != nil {
			s.writeBodyError(ctx, err)
			return
		}
		ctx.Request.SetBodyRaw(body)
		next(ctx)
		ctx.Request.ResetBody()
	}
}

// read reads a body of so many bytes into b, or a chunked one (-1). What it returns
// may be b no more, also with an error.
func (s *bodyLimiter) read(r io.Reader, b []byte, contentLength int) ([]byte, error) {
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

// release gives back a body's room, which began in the given one.
func (s *bodyLimiter) release(initial *[]byte, body []byte) {
	if s.reserved.Add(int64(cap(*initial) - cap(body))); cap(body) <= maxPooledBody {
		*initial = body
	}
	s.pool.Put(initial)
}

// writeBodyError answers a request whose body can't be had. The peer may still be
// sending it: what comes is no request.
func (s *Server) writeBodyError(ctx *fasthttp.RequestCtx, err error) {
	ctx.SetConnectionClose()
	switch {
	case errors.Is(err, schema.ErrTooLarge):
		s.writeStatusError(ctx, http.StatusRequestEntityTooLarge)
	case errors.Is(err, schema.ErrBusy):
		s.writeStatusError(ctx, http.StatusServiceUnavailable)
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.writeStatusError(ctx, http.StatusRequestTimeout)
	default:
		s.writeStatusError(ctx, http.StatusBadRequest)
	}
}
