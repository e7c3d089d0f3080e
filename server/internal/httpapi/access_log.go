package httpapi

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/hookback/hookback/schema"
)

// logAccess counts and, at debug level, logs every request, by its route: the path
// and the query may hold what is nobody's business. A handler that panics costs
// its own request only.
func (s *Server) logAccess(c *fiber.Ctx) (err error) {
	start := time.Now()
	defer func() {
		if recover() != nil {
			// The panic's value may hold a piece of somebody's event.
			s.Log.Error("a handler panicked", "route", c.Route().Path, "stack", string(debug.Stack()))
			err = s.writeError(c, schema.ErrInternal)
		}
		took := time.Since(start)
		status := c.Response().StatusCode()
		s.Metrics.recordRequest(c.Method(), c.Route().Path, status, took)
		if s.Log.Enabled(c.UserContext(), slog.LevelDebug) {
			s.Log.Debug("request", "method", c.Method(), "route", c.Route().Path, "status", status, "took", took)
		}
	}()
	if err := c.Next(); err != nil {
		return s.writeError(c, err)
	}
	return nil
}

func (s *Server) addSecurityHeaders(c *fiber.Ctx) error {
	writeSecurityHeaders(c.Context())
	return c.Next()
}

func writeSecurityHeaders(ctx *fasthttp.RequestCtx) {
	for _, h := range securityHeaders {
		ctx.Response.Header.SetCanonical(h[0], h[1])
	}
}
