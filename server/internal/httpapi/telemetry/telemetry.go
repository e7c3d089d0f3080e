// Package telemetry is the HTTP interface for the OpenTelemetry export of coding agents:
// OTLP/HTTP in JSON and in protobuf, plain or compressed with gzip.
package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
)

const (
	noSessionMessage = "some records name no session; is OTEL_METRICS_INCLUDE_SESSION_ID off?"
	typeProtobuf     = "application/x-protobuf"
	// maxInflating limits the compressed bodies in work. The server's budget for bodies counts them
	// as sent, and each can grow to schema.MaxBody.
	maxInflating = 4
)

// Handlers has the handlers of the OTLP routes.
type Handlers struct {
	ingest    func(context.Context, parser, []byte, hub.Caller) (hub.TelemetryResult, error)
	callerOf  func(*fiber.Ctx) hub.Caller
	record    func(signal string, result hub.TelemetryResult)
	inflating chan struct{}
}

type parser = func([]byte) (otlp.Batch, error)

// New returns handlers that store events in the hub. callerOf returns the caller of a request, and
// record counts the outcomes of the records of a signal: logs, metrics or traces.
func New(h *hub.Hub, callerOf func(*fiber.Ctx) hub.Caller, record func(string, hub.TelemetryResult)) *Handlers {
	return &Handlers{ingest: h.IngestTelemetry, callerOf: callerOf, record: record, inflating: make(chan struct{}, maxInflating)}
}

// Routes returns the handlers by "METHOD path".
func (h *Handlers) Routes() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"POST " + schema.PathOTLPLogs:    h.handler("logs", otlp.Logs, otlp.LogsProtobuf),
		"POST " + schema.PathOTLPMetrics: h.handler("metrics", otlp.Metrics, otlp.MetricsProtobuf),
		"POST " + schema.PathOTLPTraces:  h.handler("traces", otlp.Spans, otlp.SpansProtobuf),
	}
}

// handler returns the handler of a signal, with its readers of both encodings.
func (h *Handlers) handler(signal string, fromJSON, fromProtobuf parser) fiber.Handler {
	return func(c *fiber.Ctx) error {
		media, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";")
		parse, respond := fromJSON, sendJSON
		switch media = strings.TrimSpace(media); {
		case strings.EqualFold(media, typeProtobuf):
			parse, respond = fromProtobuf, sendProtobuf
		case !strings.EqualFold(media, fiber.MIMEApplicationJSON):
			return middleware.UnsupportedType(c)
		}
		body := c.Request().Body()
		if middleware.IsCompressed(c) {
			h.inflating <- struct{}{}
			defer func() { <-h.inflating }()
			var err error
			if body, err = inflate(body); err != nil {
				return err
			}
		}
		result, err := h.ingest(c.UserContext(), parse, body, h.callerOf(c))
		h.record(signal, result)
		if err != nil {
			return err
		}
		return respond(c, signal, result.Rejected)
	}
}

// inflate decompresses a body of gzip to at most schema.MaxBody bytes.
func inflate(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, errNotGzip
	}
	plain, err := io.ReadAll(io.LimitReader(r, schema.MaxBody+1))
	if err != nil {
		return nil, errNotGzip
	}
	if len(plain) > schema.MaxBody {
		return nil, schema.ErrTooLarge
	}
	return plain, nil
}

var errNotGzip error = &schema.FieldError{Detail: "must be compressed with gzip, its Content-Encoding"}

func sendJSON(c *fiber.Ctx, signal string, rejected int) error {
	var response schema.OTLPResponse
	switch {
	case rejected == 0:
	case signal == "metrics":
		response.PartialSuccess = schema.PartialSuccess{RejectedDataPoints: rejected, ErrorMessage: noSessionMessage}
	default:
		response.PartialSuccess = schema.PartialSuccess{RejectedLogRecords: rejected, ErrorMessage: noSessionMessage}
	}
	b, err := json.Marshal(response)
	if err != nil {
		return errors.Join(schema.ErrInternal, err)
	}
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSON)
	c.Response().SetBodyRaw(b)
	return nil
}

// sendProtobuf sends an ExportLogsServiceResponse or its equivalent for the other signals: field 1
// is the partial success, with the number of rejected records and the reason.
func sendProtobuf(c *fiber.Ctx, _ string, rejected int) error {
	var response []byte
	if rejected > 0 {
		var partial []byte
		partial = protowire.AppendTag(partial, 1, protowire.VarintType)
		partial = protowire.AppendVarint(partial, uint64(rejected))
		partial = protowire.AppendTag(partial, 2, protowire.BytesType)
		partial = protowire.AppendString(partial, noSessionMessage)
		response = protowire.AppendTag(response, 1, protowire.BytesType)
		response = protowire.AppendBytes(response, partial)
	}
	c.Response().Header.SetContentType(typeProtobuf)
	c.Response().SetBodyRaw(response)
	return nil
}
