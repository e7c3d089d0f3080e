package otlp

import "encoding/json"

// Spans counts the spans in the body of POST /v1/traces. None is kept: hooks report tool calls,
// and exporters that send all signals to one address still get an answer.
func Spans(body []byte) (Batch, error) {
	var request struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []json.RawMessage `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	if err := decode(body, &request); err != nil {
		return Batch{}, err
	}
	var b Batch
	for _, source := range request.ResourceSpans {
		for _, scope := range source.ScopeSpans {
			b.Ignored += len(scope.Spans)
		}
	}
	if b.Ignored > MaxRecords {
		return Batch{}, ErrMalformed
	}
	return b, nil
}

// SpansProtobuf does the same for protobuf.
func SpansProtobuf(body []byte) (Batch, error) {
	var b Batch
	if err := readRecords(body, func(string, []byte) error { b.Ignored++; return nil }); err != nil {
		return Batch{}, err
	}
	return b, nil
}
