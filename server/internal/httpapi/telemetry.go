package httpapi

import (
	"encoding/json"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
)

const noSessionMessage = "some records name no session; is OTEL_METRICS_INCLUDE_SESSION_ID off?"

func (s *Server) otlpLogs(c *fiber.Ctx) error {
	result, err := s.ingestTelemetry(c, "logs", otlp.Logs)
	if err != nil {
		return err
	}
	var response history.OTLPResponse
	if result.Rejected > 0 {
		response.PartialSuccess = history.PartialSuccess{RejectedLogRecords: result.Rejected, ErrorMessage: noSessionMessage}
	}
	return reply(c)(json.Marshal(response))
}

func (s *Server) otlpMetrics(c *fiber.Ctx) error {
	result, err := s.ingestTelemetry(c, "metrics", otlp.Metrics)
	if err != nil {
		return err
	}
	var response history.OTLPResponse
	if result.Rejected > 0 {
		response.PartialSuccess = history.PartialSuccess{RejectedDataPoints: result.Rejected, ErrorMessage: noSessionMessage}
	}
	return reply(c)(json.Marshal(response))
}

func (s *Server) ingestTelemetry(c *fiber.Ctx, signal string, parse func([]byte) (otlp.Batch, error)) (hub.TelemetryResult, error) {
	media, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
	if !strings.EqualFold(strings.TrimSpace(media), fiber.MIMEApplicationJSON) {
		return hub.TelemetryResult{}, middleware.UnsupportedType(c)
	}
	result, err := s.Hub.IngestTelemetry(c.UserContext(), parse, c.Request().Body(), caller(c))
	s.Metrics.recordTelemetry(signal, result)
	return result, err
}
