package otlp

import "encoding/json"

// Logs reads the body of POST /v1/logs in JSON. The only error of the readers is ErrMalformed.
func Logs(body []byte) (Batch, error) { return read[logsRequest](body, decodeJSON) }

// LogsProtobuf is Logs for protobuf.
func LogsProtobuf(body []byte) (Batch, error) { return read[logsRequest](body, decodeProtobuf) }

// Metrics reads the body of POST /v1/metrics in JSON.
func Metrics(body []byte) (Batch, error) { return read[metricsRequest](body, decodeJSON) }

// MetricsProtobuf is Metrics for protobuf.
func MetricsProtobuf(body []byte) (Batch, error) { return read[metricsRequest](body, decodeProtobuf) }

// Spans reads the body of POST /v1/traces in JSON.
func Spans(body []byte) (Batch, error) { return read[spansRequest](body, decodeJSON) }

// SpansProtobuf is Spans for protobuf.
func SpansProtobuf(body []byte) (Batch, error) { return read[spansRequest](body, decodeProtobuf) }

func read[T interface{ batch() (Batch, error) }](body []byte, decode func([]byte, any) error) (Batch, error) {
	var request T
	if err := decode(body, &request); err != nil {
		return Batch{}, err
	}
	b, err := request.batch()
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

// spansRequest is the body of POST /v1/traces.
type spansRequest struct {
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []json.RawMessage `json:"spans" pb:"2"`
		} `json:"scopeSpans" pb:"2"`
	} `json:"resourceSpans" pb:"1"`
}

// batch counts the spans. None is kept: hooks report tool calls, and exporters that send all signals to one address
// still get an answer.
func (request spansRequest) batch() (b Batch, err error) {
	for _, source := range request.ResourceSpans {
		for _, scope := range source.ScopeSpans {
			b.Ignored += len(scope.Spans)
		}
	}
	if b.Ignored > MaxRecords {
		err = ErrMalformed
	}
	return b, err
}
