package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
)

const (
	noSessionMessage = "some records name no session; is OTEL_METRICS_INCLUDE_SESSION_ID off?"
	typeProtobuf     = "application/x-protobuf"
	// maxInflating limits the compressed bodies in work. The server's budget for bodies counts them
	// as sent, and each can grow to schema.MaxBody.
	maxInflating = 4
)

type otlpParser = func([]byte) (otlp.Batch, error)

// telemetry returns the handler of a signal of the OpenTelemetry export of coding agents, logs, metrics or traces,
// with its readers of both encodings: OTLP/HTTP in JSON and in protobuf, plain or compressed with gzip.
func (s *Server) telemetry(signal string, fromJSON, fromProtobuf otlpParser) func(*request) error {
	return func(r *request) error {
		media, _, _ := strings.Cut(r.Get(fiber.HeaderContentType), ";")
		isProtobuf := false
		switch media = strings.TrimSpace(media); {
		case strings.EqualFold(media, typeProtobuf):
			isProtobuf = true
		case !strings.EqualFold(media, fiber.MIMEApplicationJSON):
			return middleware.UnsupportedType(r.Ctx)
		}
		body := r.Request().Body()
		if middleware.IsCompressed(r.Ctx) {
			s.inflating <- struct{}{}
			defer func() { <-s.inflating }()
			var err error
			if body, err = inflate(body); err != nil {
				return err
			}
		}
		parse := fromJSON
		if isProtobuf {
			parse = fromProtobuf
		}
		result, err := s.Hub.IngestTelemetry(r, parse, body, r.by)
		s.Metrics.recordTelemetry(signal, result)
		if err == nil && isProtobuf {
			r.Response().Header.SetContentType(typeProtobuf)
			r.Response().SetBodyRaw(protobufResult(result.Rejected))
			return nil
		}
		return r.reply(jsonResult(signal, result.Rejected), err)
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

func jsonResult(signal string, rejected int) (response schema.OTLPResponse) {
	switch {
	case rejected == 0:
	case signal == "metrics":
		response.PartialSuccess = schema.PartialSuccess{RejectedDataPoints: rejected, ErrorMessage: noSessionMessage}
	default:
		response.PartialSuccess = schema.PartialSuccess{RejectedLogRecords: rejected, ErrorMessage: noSessionMessage}
	}
	return response
}

// protobufResult returns an ExportLogsServiceResponse or its equivalent for the other signals: field 1
// is the partial success, with the number of rejected records and the reason.
func protobufResult(rejected int) (response []byte) {
	if rejected > 0 {
		var partial []byte
		partial = protowire.AppendTag(partial, 1, protowire.VarintType)
		partial = protowire.AppendVarint(partial, uint64(rejected))
		partial = protowire.AppendTag(partial, 2, protowire.BytesType)
		partial = protowire.AppendString(partial, noSessionMessage)
		response = protowire.AppendTag(response, 1, protowire.BytesType)
		response = protowire.AppendBytes(response, partial)
	}
	return response
}
