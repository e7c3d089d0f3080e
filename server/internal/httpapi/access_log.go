package httpapi

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
)

// logAccess is the first middleware. It records metrics for every request and logs it at
// debug level by its route only, because the path and the query may contain user content.
// It also recovers from panics in handlers, so a panic fails only its own request.
func (s *Server) logAccess(c *fiber.Ctx) (err error) {
	start := time.Now()
	defer func() {
		if recover() != nil {
			// The panic value may contain part of an event, so it is not logged.
			s.Log.Error("handler panicked", "route", c.Route().Path, "stack", string(debug.Stack()))
			err = s.writeError(c, schema.ErrInternal)
		}
		took := time.Since(start)
		status := c.Response().StatusCode()
		s.Metrics.recordRequest(c.Method(), c.Route().Path, status, took)
		if s.Log.Enabled(c.UserContext(), slog.LevelDebug) {
			s.Log.Debug("request handled", "method", c.Method(), "route", c.Route().Path, "status", status, "duration", took)
		}
	}()
	if err := c.Next(); err != nil {
		return s.writeError(c, err)
	}
	return nil
}
