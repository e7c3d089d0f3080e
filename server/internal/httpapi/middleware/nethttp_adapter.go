package middleware

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
)

// This adapter runs an http.Handler behind Fiber. Fiber's own adaptor buffers the whole
// response, so an event stream would arrive only when it ends and a disconnected client
// would go unnoticed. This one sends a response as soon as the handler flushes it.

// NetHTTP serves requests with handlers of net/http.
type NetHTTP struct {
	Stopping     context.Context // ends waiting requests
	Heartbeat    time.Duration   // between two signs of life of a slow response
	WriteTimeout time.Duration   // for one write
	Log          *slog.Logger
}

const eventStreamType = "text/event-stream"

// adaptedResponse is the http.ResponseWriter of the handler. Writes before the first Flush
// are buffered; later writes go to the connection.
type adaptedResponse struct {
	header  http.Header
	started chan struct{} // closed when streaming starts
	chunks  chan []byte   // of the stream; closed when the handler ends
	gone    chan struct{} // closed when nothing is sent any more

	mu        sync.Mutex
	status    int          // 0: not set yet
	buffered  bytes.Buffer // writes before streaming started
	streaming bool         // started is closed
}

// Header implements http.ResponseWriter. The handler must not change the header after
// streaming started.
func (b *adaptedResponse) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *adaptedResponse) WriteHeader(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status = cmp.Or(b.status, status)
}

// Write implements http.ResponseWriter. It fails after the peer disconnected.
func (b *adaptedResponse) Write(p []byte) (int, error) {
	b.mu.Lock()
	b.status = cmp.Or(b.status, http.StatusOK)
	if !b.streaming {
		defer b.mu.Unlock()
		return b.buffered.Write(p)
	}
	b.mu.Unlock()
	select {
	case b.chunks <- bytes.Clone(p):
		return len(p), nil
	case <-b.gone:
		return 0, io.ErrClosedPipe
	}
}

// Flush implements http.Flusher.
func (b *adaptedResponse) Flush() { b.startStreaming() }

// startStreaming switches from buffering to streaming. It reports whether this call did so.
func (b *adaptedResponse) startStreaming() (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.streaming {
		return false
	}
	b.streaming = true
	close(b.started)
	return true
}

// Serve serves the request with handler. The context passed to handler is canceled
// when the peer disconnects or the hub stops. The handler then writes its partial result
// and returns.
func (s *NetHTTP) Serve(c *fiber.Ctx, handler func(waitCtx context.Context) http.Handler) error {
	cn, ok := c.Context().Conn().(*Conn)
	if !ok {
		return fiber.ErrInternalServerError
	}
	peerCtx, unwatch := cn.WatchDisconnect(context.Background(), EndHalfClosed)
	waitCtx, cancel := context.WithCancel(peerCtx)
	stopAfterFunc := context.AfterFunc(s.Stopping, cancel)
	release := func() {
		stopAfterFunc()
		cancel()
		unwatch()
	}
	w := &adaptedResponse{header: http.Header{}, started: make(chan struct{}), chunks: make(chan []byte), gone: make(chan struct{})}
	req := netHTTPRequest(peerCtx, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				LogPanic(s.Log, v)
				w.WriteHeader(http.StatusInternalServerError)
			}
			close(w.chunks)
		}()
		handler(waitCtx).ServeHTTP(w, req)
	}()
	select {
	case <-done:
		release()
		w.copyHeader(c)
		c.Response().SetBodyRaw(w.buffered.Bytes())
		return nil
	case <-w.started:
		w.copyHeader(c)
	case <-time.After(s.Heartbeat):
		// Both ends would take silence for a broken connection. Only event streams take
		// this long.
		if w.startStreaming() {
			c.Set(fiber.HeaderContentType, eventStreamType)
		} else {
			w.copyHeader(c)
		}
	}
	isStream := strings.HasPrefix(string(c.Response().Header.ContentType()), eventStreamType)
	c.Context().SetBodyStreamWriter(func(to *bufio.Writer) {
		defer release()
		s.copyStream(&deadlineWriter{to, cn, s.WriteTimeout}, w, isStream)
		cancel() // the peer is gone or the handler is done
		<-done
	})
	return nil
}

// copyHeader copies the status and the headers to the Fiber response.
func (b *adaptedResponse) copyHeader(c *fiber.Ctx) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status != 0 {
		c.Status(b.status)
	}
	for name, values := range b.header {
		// The server manages the connection, and responses of the hub are never cached.
		if name != fiber.HeaderConnection && name != fiber.HeaderContentLength && name != fiber.HeaderCacheControl {
			c.Set(name, strings.Join(values, ", "))
		}
	}
}

// deadlineWriter gives each chunk of a response its own write deadline. WriteTimeout covers
// the response as a whole.
type deadlineWriter struct {
	*bufio.Writer
	conn    *Conn
	timeout time.Duration
}

func (p *deadlineWriter) writeChunk(chunk []byte) bool {
	_ = p.conn.SetWriteDeadline(time.Now().Add(p.timeout))
	_, _ = p.Write(chunk)
	return p.Flush() == nil
}

// copyStream sends the handler's output as it is written. On an event stream it sends a
// comment as a heartbeat when there was no output for HookHeartbeat.
func (s *NetHTTP) copyStream(dst *deadlineWriter, w *adaptedResponse, isStream bool) {
	defer close(w.gone)
	w.mu.Lock()
	buffered := w.buffered.Bytes()
	w.mu.Unlock()
	if !dst.writeChunk(buffered) {
		return
	}
	ticker := time.NewTicker(s.Heartbeat)
	defer ticker.Stop()
	for atBoundary := true; ; { // a heartbeat must not split an event
		select {
		case chunk, more := <-w.chunks:
			if !more || !dst.writeChunk(chunk) {
				return
			}
			atBoundary = bytes.HasSuffix(chunk, []byte("\n\n"))
		case <-ticker.C:
			if isStream && atBoundary && !dst.writeChunk([]byte(": waiting\n\n")) {
				return
			}
		}
	}
}

// netHTTPRequest converts the request. It copies the body, because Fiber reuses it after
// its handler returns.
func netHTTPRequest(ctx context.Context, c *fiber.Ctx) *http.Request {
	body := bytes.Clone(c.Request().Body())
	target, err := url.ParseRequestURI(c.OriginalURL())
	if err != nil {
		target = &url.URL{Path: c.Path()}
	}
	req := &http.Request{
		Method: c.Method(), URL: target, RequestURI: c.OriginalURL(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Host: c.Get(fiber.HeaderHost), RemoteAddr: c.Context().RemoteAddr().String(),
	}
	for name, value := range c.Request().Header.All() {
		req.Header.Add(string(name), string(value))
	}
	return req.WithContext(ctx)
}

// LogPanic logs a recovered panic, if v is one. The panic value is omitted, because it may contain
// user content.
func LogPanic(log *slog.Logger, v any) {
	if v != nil {
		log.Error("response stream panicked", "stack", string(debug.Stack()))
	}
}
