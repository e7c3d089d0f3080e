package schema

// OTLPResponse answers an OTLP request, as OpenTelemetry has it: what is not kept is
// accepted all the same. A record is rejected when it names no session.
type OTLPResponse struct {
	PartialSuccess PartialSuccess `json:"partialSuccess"`
}

// PartialSuccess says how many records were rejected, for good, and why. It is empty
// where none was.
type PartialSuccess struct {
	RejectedLogRecords int    `json:"rejectedLogRecords,omitempty"`
	RejectedDataPoints int    `json:"rejectedDataPoints,omitempty"`
	ErrorMessage       string `json:"errorMessage,omitempty"`
}
