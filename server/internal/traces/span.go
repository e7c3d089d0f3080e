package traces

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// SchemaURL is the version of the semantic conventions that the names of spans and attributes follow.
const SchemaURL = "https://opentelemetry.io/schemas/1.41.0"

// scopeName names the instrumentation scope and the service of all spans.
const scopeName = "hookback"

// Limits of one span.
const (
	maxText    = 300      // bytes of a name or an attribute
	maxContent = 16 << 10 // bytes of an attribute with arguments or a prompt
)

// The kinds of span. They are part of the span's id.
const (
	agentSpan = "agent"
	toolSpan  = "tool"
	waitSpan  = "wait"
)

// id is derived from the id of an event, so that a span that is sent twice has the same id.
func id(kind, uid string, size int) string {
	sum := sha256.Sum256([]byte("hookback\x00" + kind + "\x00" + uid))
	return hex.EncodeToString(sum[:size])
}

func traceID(uid string) string      { return id("trace", uid, 16) }
func spanID(kind, uid string) string { return id(kind, uid, 8) }

// value is an attribute's value in OTLP.
type value struct {
	String *string `json:"stringValue,omitempty"`
	Bool   *bool   `json:"boolValue,omitempty"`
	Int    *string `json:"intValue,omitempty"` // 64 bits are a string in JSON
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// spanStatus is the status of a span. 0: unset, 2: error.
type spanStatus struct {
	Code int `json:"code,omitempty"`
}

// span is a span in the JSON encoding of OTLP.
type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
	Dropped    int         `json:"droppedAttributesCount,omitempty"`
	Status     spanStatus  `json:"status"`

	startMS int64
	isOver  bool
}

// internalKind is SPAN_KIND_INTERNAL.
const internalKind = 1

func (s *span) setStart(ms int64) { s.startMS, s.Start = ms, nanoseconds(ms) }

// finish sets the end, unless the span has one.
func (s *span) finish(ms int64) {
	if !s.isOver {
		s.End, s.isOver = nanoseconds(max(ms, s.startMS)), true
	}
}

func (s *span) fail(kind string) {
	s.setText("error.type", kind)
	s.Status.Code = 2
}

// setText sets an attribute; an empty text sets none.
func (s *span) setText(key, text string) { s.setLimited(key, text, maxText) }

func (s *span) setLimited(key, text string, limit int) {
	if text == "" {
		return
	}
	text = cut(text, limit)
	s.set(key, value{String: &text})
}

func (s *span) setInt(key string, n int64) {
	text := strconv.FormatInt(n, 10)
	s.set(key, value{Int: &text})
}

func (s *span) setBool(key string, b bool) { s.set(key, value{Bool: &b}) }

func (s *span) set(key string, v value) {
	for i := range s.Attributes {
		if s.Attributes[i].Key == key {
			s.Attributes[i].Value = v
			return
		}
	}
	s.Attributes = append(s.Attributes, attribute{key, v})
}

func nanoseconds(ms int64) string { return strconv.FormatInt(max(ms, 0)*1e6, 10) }

// cut shortens a text to at most limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[:limit]
	for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	if r, _ := utf8.DecodeLastRuneInString(text); r == utf8.RuneError && len(text) > 0 {
		text = text[:len(text)-1]
	}
	return text + "…"
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type scopeSpans struct {
	Scope     scope  `json:"scope"`
	Spans     []span `json:"spans"`
	SchemaURL string `json:"schemaUrl"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
	SchemaURL  string       `json:"schemaUrl"`
}

// encode returns the body of a request to /v1/traces.
func encode(spans []span, version string) ([]byte, error) {
	var r span // for its attributes
	r.setText("service.name", scopeName)
	r.setText("service.version", version)
	return json.Marshal(map[string][]resourceSpans{"resourceSpans": {{
		Resource: resource{r.Attributes}, SchemaURL: SchemaURL,
		ScopeSpans: []scopeSpans{{Scope: scope{scopeName, version}, Spans: spans, SchemaURL: SchemaURL}},
	}}})
}
