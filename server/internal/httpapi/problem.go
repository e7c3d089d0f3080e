package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
)

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
		err = schema.ErrStopping
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
