// Package otlp reads what coding agents tell of themselves over OpenTelemetry: the
// bodies of OTLP/HTTP in JSON, log records and metrics. It is pure, and keeps what
// hooks can't know: which model was asked, how much it read and wrote, how long that
// took and what it cost.
//
//	Claude Code  claude_code.api_request, claude_code.api_error  → ApiRequest, ApiError
//	             claude_code.token.usage, claude_code.cost.usage → ApiUsage
//	Codex        codex.sse_event of kind response.completed      → ApiRequest
//	Gemini CLI   gemini_cli.api_response, gemini_cli.api_error   → ApiRequest, ApiError
//
// Everything else is left out and counted: tool calls, decisions and prompts are told
// by hooks, at once and whole. What is kept becomes an event of the session, in the
// words that package digest knows, so that the log stays the one source of all sums.
//
// A body is read in one pass over its bytes, whatever it holds; values of other types
// than OTLP's are not there.
package otlp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

// Bounds of one request.
const (
	MaxRecords    = 4096 // log records and data points; Claude Code sends 512
	maxAttributes = 256  // of a record
	maxText       = 300  // of an attribute that is kept, bytes
	maxTokens     = 1e12
	maxCost       = 1e6
	maxMS         = 30 * 24 * 3600 * 1000
)

// ErrMalformed is returned for a body that is not JSON, or too much of it.
var ErrMalformed = errors.New("not an OTLP request in JSON")

// Batch is what a request says.
type Batch struct {
	Events   []schema.Event // source_app is the agent's usual name: see Known
	Ignored  int            // records that say nothing which is kept
	Rejected int            // records that would be kept, but name no session
}

// agents are the agents by the beginning of their service.name.
var agents = []struct{ service, name, prefix string }{
	{"claude-code", "claude-code", "claude_code."},
	{"codex", "codex", "codex."}, // codex_cli_rs, codex-cli, codex_exec
	{"gemini", "gemini", "gemini_cli."},
}

// agentOf is the agent whose record of this name it is; empty for anybody else's.
func agentOf(service, name string) (agent, short string) {
	for _, a := range agents {
		if rest, ok := strings.CutPrefix(name, a.prefix); ok && strings.HasPrefix(service, a.service) {
			return a.name, rest
		}
	}
	return "", ""
}

// tokenUsage is schema.Tokens in the words of a payload.
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

// newEvent makes an event of a payload. Its key holds all that tells records apart: an
// exporter that was not answered in time sends the same ones again.
func newEvent(e schema.Event, payload any) (schema.Event, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return e, fmt.Errorf("encoding a record: %w", err)
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

// truncate keeps what is kept of a text.
func truncate(text string) string {
	if len(text) <= maxText {
		return text
	}
	text = text[:maxText]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// boundedInt is a number from 0 to limit, cut to a whole one; 0 for anything else.
func boundedInt(n float64, limit float64) int64 {
	if !(n >= 0 && n <= limit) {
		return 0
	}
	return int64(n)
}

// boundedCost is a cost; 0 for what can't be one.
func boundedCost(n float64) float64 {
	if !(n >= 0 && n <= maxCost) {
		return 0
	}
	return n
}

// formatCount writes a number of tokens as people say it.
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
