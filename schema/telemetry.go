package schema

// PathOTLPTraces is the path of POST /v1/traces.
const PathOTLPTraces = "/v1/traces"

// OTLPResponse is the response to an OTLP request. As OpenTelemetry requires, records that the hub
// does not use count as accepted. A record without a session is rejected.
type OTLPResponse struct {
	PartialSuccess PartialSuccess `json:"partialSuccess"`
}

// PartialSuccess reports the number of permanently rejected records and the reason. It is empty if
// none was rejected.
type PartialSuccess struct {
	RejectedLogRecords int    `json:"rejectedLogRecords,omitempty"`
	RejectedDataPoints int    `json:"rejectedDataPoints,omitempty"`
	ErrorMessage       string `json:"errorMessage,omitempty"`
}
