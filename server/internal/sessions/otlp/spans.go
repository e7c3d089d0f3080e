package otlp

import "encoding/json"

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
