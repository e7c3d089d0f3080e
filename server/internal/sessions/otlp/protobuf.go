package otlp

import (
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The readers below build the same structures from protobuf as encoding/json does from JSON, so
// that all else is one code. They read only the fields that are needed, with the numbers of
// opentelemetry-proto 1.x; the generated messages would hold a whole body, which at 2 bytes per
// empty message grows a hundredfold in memory (server/docs/decisions/sessions.md#telemetry).

// field is a field of a protobuf message. Only the member of its wire type is set.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bits   uint64
	bytes  []byte
}

// readFields calls visit for each field of a message, in their order.
func readFields(message []byte, visit func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return ErrMalformed
		}
		message = message[n:]
		f := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return ErrMalformed
		}
		message = message[n:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// readMessages calls visit for each message in the field with that number.
func readMessages(message []byte, number protowire.Number, visit func([]byte) error) error {
	return readFields(message, func(f field) error {
		if f.number != number || f.kind != protowire.BytesType {
			return nil
		}
		return visit(f.bytes)
	})
}

// is reports whether the field has that number and wire type. A field of another type is unknown.
func (f field) is(number protowire.Number, kind protowire.Type) bool {
	return f.number == number && f.kind == kind
}

// text returns the text of a string field. Protobuf requires valid UTF-8.
func (f field) text() (scalar, error) {
	if !utf8.Valid(f.bytes) {
		return "", ErrMalformed
	}
	return scalar(f.bytes), nil
}

func (f field) unsigned() scalar { return scalar(strconv.FormatUint(f.bits, 10)) }
func (f field) signed() scalar   { return scalar(strconv.FormatInt(int64(f.bits), 10)) }
func (f field) double() scalar {
	return scalar(strconv.FormatFloat(math.Float64frombits(f.bits), 'g', -1, 64))
}

func readAnyValue(message []byte) (v anyValue, err error) {
	err = readFields(message, func(f field) (err error) {
		switch {
		case f.is(1, protowire.BytesType):
			v.String, err = f.text()
		case f.is(2, protowire.VarintType):
			v.Bool = scalar(strconv.FormatBool(f.bits != 0))
		case f.is(3, protowire.VarintType):
			v.Int = f.signed()
		case f.is(4, protowire.Fixed64Type):
			v.Double = f.double()
		}
		return err
	})
	return v, err
}

func readAttribute(message []byte) (a attribute, err error) {
	err = readFields(message, func(f field) (err error) {
		switch {
		case f.is(1, protowire.BytesType):
			a.Key, err = f.text()
		case f.is(2, protowire.BytesType):
			a.Value, err = readAnyValue(f.bytes)
		}
		return err
	})
	return a, err
}

// appendAttribute appends the attribute in a message to a list.
func appendAttribute(list *[]attribute) func([]byte) error {
	return func(message []byte) error {
		a, err := readAttribute(message)
		*list = append(*list, a)
		return err
	}
}

// readSource calls visit for each scope's message of a ResourceLogs, ResourceMetrics or
// ResourceSpans, which have the same numbers. The resource comes first, wherever it was sent.
func readSource(message []byte, visit func(service string, scope []byte) error) error {
	var source resource
	err := readMessages(message, 1, func(m []byte) error {
		return readMessages(m, 1, appendAttribute(&source.Attributes))
	})
	if err != nil {
		return err
	}
	service := source.serviceName()
	return readMessages(message, 2, func(scope []byte) error { return visit(service, scope) })
}

// LogsProtobuf reads the body of POST /v1/logs in protobuf, as Logs does in JSON.
func LogsProtobuf(body []byte) (Batch, error) {
	var b Batch
	err := readRecords(body, func(service string, message []byte) error {
		raw, err := readLog(message)
		if err != nil {
			return err
		}
		return b.addLog(service, raw.record())
	})
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

// readRecords calls visit for each log record or span of a request, at most MaxRecords.
func readRecords(body []byte, visit func(service string, record []byte) error) error {
	records := 0
	return readMessages(body, 1, func(source []byte) error {
		return readSource(source, func(service string, scope []byte) error {
			return readMessages(scope, 2, func(record []byte) error {
				if records++; records > MaxRecords {
					return ErrMalformed
				}
				return visit(service, record)
			})
		})
	})
}

func readLog(message []byte) (raw rawLog, err error) {
	appendTo := appendAttribute(&raw.Attributes)
	err = readFields(message, func(f field) (err error) {
		switch {
		case f.is(1, protowire.Fixed64Type):
			raw.Time = f.unsigned()
		case f.is(11, protowire.Fixed64Type):
			raw.Observed = f.unsigned()
		case f.is(5, protowire.BytesType):
			raw.Body, err = readAnyValue(f.bytes)
		case f.is(6, protowire.BytesType):
			err = appendTo(f.bytes)
		case f.is(12, protowire.BytesType):
			raw.EventName, err = f.text()
		}
		return err
	})
	return raw, err
}

// MetricsProtobuf reads the body of POST /v1/metrics in protobuf, as Metrics does in JSON.
func MetricsProtobuf(body []byte) (Batch, error) {
	r := newMetricsReader()
	err := readMessages(body, 1, func(source []byte) error {
		return readSource(source, func(service string, scope []byte) error {
			return readMessages(scope, 2, func(message []byte) error {
				m, err := readMetric(message)
				if err != nil {
					return err
				}
				return r.add(service, &m)
			})
		})
	})
	if err != nil {
		return Batch{}, err
	}
	return r.batch()
}

func readMetric(message []byte) (m metric, err error) {
	err = readFields(message, func(f field) (err error) {
		switch {
		case f.is(1, protowire.BytesType):
			m.Name, err = f.text()
		case f.is(7, protowire.BytesType):
			err = readFields(f.bytes, m.readSum)
		case f.is(5, protowire.BytesType):
			m.Gauge = present
		case f.is(9, protowire.BytesType):
			m.Histogram = present
		case f.is(10, protowire.BytesType):
			m.Exponential = present
		case f.is(11, protowire.BytesType):
			m.Summary = present
		}
		return err
	})
	return m, err
}

// present stands for the content of a metric that is only counted.
var present = []byte("{}")

func (m *metric) readSum(f field) error {
	switch {
	case f.is(2, protowire.VarintType):
		m.Sum.Temporality = f.unsigned()
	case f.is(1, protowire.BytesType):
		if len(m.Sum.Points) >= MaxRecords {
			return ErrMalformed
		}
		p, err := readPoint(f.bytes)
		m.Sum.Points = append(m.Sum.Points, p)
		return err
	}
	return nil
}

func readPoint(message []byte) (p point, err error) {
	appendTo := appendAttribute(&p.Attributes)
	err = readFields(message, func(f field) error {
		switch {
		case f.is(2, protowire.Fixed64Type):
			p.From = f.unsigned()
		case f.is(3, protowire.Fixed64Type):
			p.To = f.unsigned()
		case f.is(4, protowire.Fixed64Type):
			p.Double = f.double()
		case f.is(6, protowire.Fixed64Type):
			p.Int = f.signed()
		case f.is(7, protowire.BytesType):
			return appendTo(f.bytes)
		}
		return nil
	})
	return p, err
}
