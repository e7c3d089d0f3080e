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
	// firstBody is the room a body gets before any of it has arrived. More it gets
	// when it fills that: fasthttp makes room for all that a request announces.
	firstBody = 16 << 10
	// keepBody is the biggest room worth keeping for another request.
	keepBody = 64 << 10
)

// bodies are those that are arriving or being worked on.
type bodies struct {
	pool  sync.Pool    // :: *[]byte
	taken atomic.Int64 // beyond firstBody each
	limit int64        // of taken
}

// withBody reads the request's body before anything else looks at the request: one
// that is not read to its end would be taken for the next request.
func (s *Server) withBody(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		stream := ctx.RequestBodyStream()
		if stream == nil {
			next(ctx)
			return
		}
		room, ok := s.bodies.pool.Get().(*[]byte)
		if !ok {
			b := make([]byte, 0, firstBody)
			room = &b
		}
		body, err := s.bodies.read(stream, (*room)[:0], ctx.Request.Header.ContentLength())
		defer s.bodies.release(room, body)
		if err != nil {
			s.failBody(ctx, err)
			return
		}
		ctx.Request.SetBodyRaw(body)
		next(ctx)
		ctx.Request.ResetBody()
	}
}

// read reads a body of so many bytes into b, or a chunked one (-1). What it returns
// may be b no more, also with an error.
func (s *bodies) read(r io.Reader, b []byte, announced int) ([]byte, error) {
	if announced > schema.MaxBody {
		return b, schema.ErrTooLarge
	}
	most := announced
	if announced < 0 {
		most = schema.MaxBody + 1
	}
	for {
		if len(b) == cap(b) {
			more := min(2*cap(b), max(most, cap(b)+1))
			if s.taken.Add(int64(more-cap(b))) > s.limit {
				s.taken.Add(int64(cap(b) - more))
				return b, schema.ErrBusy
			}
			b = append(make([]byte, 0, more), b...)
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > schema.MaxBody:
			return b, schema.ErrTooLarge
		case errors.Is(err, io.EOF) && len(b) < announced:
			return b, io.ErrUnexpectedEOF
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

// release gives back a body's room, which began in the given one.
func (s *bodies) release(room *[]byte, body []byte) {
	if s.taken.Add(int64(cap(*room) - cap(body))); cap(body) <= keepBody {
		*room = body
	}
	s.pool.Put(room)
}

// failBody answers a request whose body can't be had. The peer may still be
// sending it: what comes is no request.
func (s *Server) failBody(ctx *fasthttp.RequestCtx, err error) {
	ctx.SetConnectionClose()
	switch {
	case errors.Is(err, schema.ErrTooLarge):
		s.failServer(ctx, http.StatusRequestEntityTooLarge)
	case errors.Is(err, schema.ErrBusy):
		s.failServer(ctx, http.StatusServiceUnavailable)
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.failServer(ctx, http.StatusRequestTimeout)
	default:
		s.failServer(ctx, http.StatusBadRequest)
	}
}
