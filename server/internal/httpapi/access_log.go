package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

// refuseWhileStopping refuses requests other than health checks once the server stops. Each response
// ends its connection.
func (s *Server) refuseWhileStopping(c *fiber.Ctx) error {
	if s.stopping.Err() == nil {
		return c.Next()
	}
	c.Context().SetConnectionClose()
	if path := c.Path(); path != schema.PathReady && path != schema.PathHealth && path != schema.PathMetrics {
		return schema.ErrStopping
	}
	return c.Next()
}

// requestIDs numbers the requests of this process.
type requestIDs struct {
	prefix string // random
	last   atomic.Uint64
}

func newRequestIDs() *requestIDs { return &requestIDs{prefix: strings.ToLower(rand.Text()[:8]) + "-"} }

func (r *requestIDs) next() string { return r.prefix + strconv.FormatUint(r.last.Add(1), 36) }

// logAccess is the first middleware. It records metrics for every request and logs it at
// debug level by its route only, because the path and the query may contain user content.
// It also recovers from panics in handlers, so a panic fails only its own request.
func (s *Server) logAccess(c *fiber.Ctx) (err error) {
	start := time.Now()
	c.Set(fiber.HeaderXRequestID, s.requestIDs.next())
	defer func() {
		if recover() != nil {
			// The panic value may contain part of an event, so it is not logged.
			s.Log.Error("handler panicked", "request", requestID(c), "route", c.Route().Path, "stack", string(debug.Stack()))
			err = s.writeError(c, schema.ErrInternal)
		}
		took := time.Since(start)
		status := c.Response().StatusCode()
		s.Metrics.recordRequest(c.Method(), c.Route().Path, status, took)
		if s.Log.Enabled(c.UserContext(), slog.LevelDebug) {
			s.Log.Debug("request handled", "request", requestID(c), "method", c.Method(), "route", c.Route().Path, "status", status, "duration", took)
		}
	}()
	if err := c.Next(); err != nil {
		return s.writeError(c, err)
	}
	return nil
}

// writeError sends an error as a problem document. It never
// shows the text of an error that is not from package schema, because an error of the HTTP
// server may contain request headers, including cookies.
func (s *Server) writeError(c *fiber.Ctx, err error) error {
	var fiberErr *fiber.Error
	if errors.As(err, &fiberErr) {
		middleware.WriteStatusError(c.Context(), fiberErr.Code)
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = schema.ErrBusy
		if s.stopping.Err() != nil {
			err = schema.ErrStopping
		}
	}
	p := schema.ProblemOf(err)
	if p.Status == http.StatusInternalServerError {
		s.Log.Error("request failed", "request", requestID(c), "route", c.Route().Path, "err", err)
	}
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusInsufficientStorage {
		c.Set(fiber.HeaderRetryAfter, middleware.RetryAfter())
	}
	s.Metrics.problems.WithLabelValues(p.Code).Inc()
	middleware.WriteProblem(c.Context(), p)
	return nil
}

// requestID returns the id that the response has in its header X-Request-Id.
func requestID(c *fiber.Ctx) string { return c.GetRespHeader(fiber.HeaderXRequestID) }
