// Package otlp reads the telemetry that coding agents send over OpenTelemetry: the bodies of
// OTLP/HTTP, log records and metrics, in JSON and in protobuf. It is pure. It keeps what hooks can't report: the model
// of each request, its tokens, its duration and its cost.
//
//	Claude Code  claude_code.api_request, claude_code.api_error  → ApiRequest, ApiError
//	             claude_code.token.usage, claude_code.cost.usage → ApiUsage
//	Codex        codex.sse_event of kind response.completed      → ApiRequest
//	Gemini CLI   gemini_cli.api_response, gemini_cli.api_error   → ApiRequest, ApiError
//
// All other records are only counted, because hooks report tool calls, decisions and prompts
// immediately and in full. The kept records become events of the session, in the form that
// package digest reads. The log thus remains the single source of all sums.
//
// Values whose type differs from OTLP's are ignored.
package otlp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hookback/hookback/schema"
)

// Limits of one request.
const (
	MaxRecords    = 4096 // log records and data points; Claude Code sends 512
	maxAttributes = 256  // per record
	maxText       = 300  // per attribute, bytes
	maxTokens     = 1e12
	maxCost       = 1e6
	maxMS         = 30 * 24 * 3600 * 1000
)

// ErrMalformed is returned for a body that is not a JSON object or protobuf message, is nested too
// deeply or has too many records.
var ErrMalformed = errors.New("not an OTLP request")

// Batch is the content of a request.
type Batch struct {
	Events   []schema.Event // SourceApp is the agent's usual name
	Ignored  int            // number of records of other kinds
	Rejected int            // number of records without a session id
}

// agents maps prefixes of service.name to agents and the prefixes of their record names.
var agents = []struct{ service, name, prefix string }{
	{"claude-code", "claude-code", "claude_code."},
	{"codex", "codex", "codex."}, // codex_cli_rs, codex-cli, codex_exec
	{"gemini", "gemini", "gemini_cli."},
}

// agentOf returns the agent that a record belongs to and the record's short name, or "" for an
// unknown source.
func agentOf(service, name string) (agent, short string) {
	for _, a := range agents {
		if rest, ok := strings.CutPrefix(name, a.prefix); ok && strings.HasPrefix(service, a.service) {
			return a.name, rest
		}
	}
	return "", ""
}

// tokenUsage is history.Tokens with the member names of a payload.
type tokenUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens,omitempty"`
	CacheWrite int64 `json:"cache_creation_input_tokens,omitempty"`
}

// modelRequest is the payload of an ApiRequest or ApiError.
type modelRequest struct {
	Model        string      `json:"model,omitempty"`
	Usage        *tokenUsage `json:"usage,omitempty"`
	CostUSD      float64     `json:"cost_usd,omitempty"`
	DurationMS   int64       `json:"duration_ms,omitempty"`
	FirstTokenMS int64       `json:"ttft_ms,omitempty"`
	Error        string      `json:"error,omitempty"`
	Status       int64       `json:"status_code,omitempty"`
	Attempt      int64       `json:"attempt,omitempty"`
	RequestID    string      `json:"request_id,omitempty"`
	PromptID     string      `json:"prompt_id,omitempty"`
	Source       string      `json:"query_source,omitempty"`
	Effort       string      `json:"effort,omitempty"`
	Sequence     int64       `json:"sequence,omitempty"`
}

// newEvent returns e with the payload and an idempotency key. The key covers everything that
// distinguishes records, because an exporter that gets no timely response sends the same records
// again.
func newEvent(e schema.Event, payload any) (schema.Event, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return e, fmt.Errorf("encode a record: %w", err)
	}
	e.Payload = raw
	h := sha256.New()
	for _, part := range []string{e.Agent, e.SessionID, e.HookEventType, e.AgentID, strconv.FormatInt(int64(e.Timestamp), 10)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	h.Write(raw)
	e.IdempotencyKey = "otlp/" + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	return e, nil
}

// boundedInt returns n as an integer if it is from 0 to limit, otherwise 0.
func boundedInt(n float64, limit float64) int64 {
	if !(n >= 0 && n <= limit) {
		return 0
	}
	return int64(n)
}

// boundedCost returns a valid cost, otherwise 0.
func boundedCost(n float64) float64 {
	if !(n >= 0 && n <= maxCost) {
		return 0
	}
	return n
}

// formatCount formats a number of tokens for people, such as 10.5k.
func formatCount(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_500:
		return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
	default:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
	}
}
