package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/hookback/hookback/schema/internal/object"
)

// EventID identifies an event. The hub assigns 1, 2, 3 … in commit order. It is also the event's
// sequence number on the stream.
type EventID int64

// Millis is a point in time: Unix time in milliseconds. Fractions are truncated.
type Millis int64

// maxMillis is the latest time that a JavaScript Date can represent.
const maxMillis = 8_640_000_000_000_000

// UnmarshalJSON accepts any JSON number that a JavaScript Date can represent.
func (m *Millis) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	if math.Abs(f) > maxMillis {
		return invalid("", "must be Unix time in milliseconds")
	}
	*m = Millis(f)
	return nil
}

// TestApp is the application of test requests. The hub refuses it from everyone else.
const TestApp = "hookback-test"

// TestRequest is the response to POST /api/test-requests.
type TestRequest struct {
	ID EventID `json:"id"`
}

// Event is one message from an agent's hook: something that the agent did or is about to do. With
// HumanInTheLoop it asks a question.
//
// SourceApp, SessionID, HookEventType and Payload are required. ID, UID and HumanInTheLoopStatus
// are set by the hub and ignored if a client sends them. The hub replaces the SourceApp of an event with an
// Agent, if that is only the name of a directory in the payload, by the one of the session's first event.
type Event struct {
	ID  EventID `json:"id,omitempty"`
	UID string  `json:"uid,omitempty"` // UUIDv7 that identifies the event across hubs

	SourceApp     string          `json:"source_app"`
	SessionID     string          `json:"session_id"`
	HookEventType string          `json:"hook_event_type"`
	Payload       json.RawMessage `json:"payload" jsonschema:"type=object"` // a JSON object, kept byte for byte
	Timestamp     Millis          `json:"timestamp,omitempty"`              // by the agent's clock; for display only

	Summary   string          `json:"summary,omitempty"`
	ModelName string          `json:"model_name,omitempty"`
	Chat      json.RawMessage `json:"chat,omitempty"` // the transcript; returned only by GET /events/:id

	// PayloadSanitized is set if the event differs from the agent's input: invalid UTF-8 or the escape
	// of half a character became U+FFFD, or a member that can't be read became a text.
	PayloadSanitized bool `json:"payloadSanitized,omitempty"`

	// Agent is the coding agent whose hook sent the event, such as claude-code, codex or gemini
	// (see agentclient/hook). Other programs leave it out.
	Agent string `json:"agent,omitempty"`

	// OSUser and UserEmail name the person that runs the agent, as reported by its hook or its telemetry:
	// facts for display, which prove nothing. TokenOwner is set by the hub: the person whose token sent the
	// event.
	OSUser     string `json:"os_user,omitempty"`
	UserEmail  string `json:"user_email,omitempty"`
	TokenOwner string `json:"tokenOwner,omitempty"`

	// ModelUsage is the usage of the session so far, by model. The hook of Claude Code reads it from the
	// transcript at the end of a turn and of the session. A hub counts it only if it is more than telemetry reports.
	ModelUsage []ModelUsage `json:"modelUsage,omitempty"`

	// Hook fields that clients copy from the payload.
	ToolName              string          `json:"tool_name,omitempty"`
	ToolUseID             string          `json:"tool_use_id,omitempty"`
	AgentID               string          `json:"agent_id,omitempty"`
	AgentType             string          `json:"agent_type,omitempty"`
	ParentSessionID       string          `json:"parent_session_id,omitempty"`
	Error                 string          `json:"error,omitempty"`
	IsInterrupt           *bool           `json:"is_interrupt,omitempty"`
	PermissionSuggestions json.RawMessage `json:"permission_suggestions,omitempty"`
	AgentTranscriptPath   string          `json:"agent_transcript_path,omitempty"`
	StopHookActive        *bool           `json:"stop_hook_active,omitempty"`
	NotificationType      string          `json:"notification_type,omitempty"`
	CustomInstructions    string          `json:"custom_instructions,omitempty"`
	Source                string          `json:"source,omitempty"`
	Reason                string          `json:"reason,omitempty"`

	// IdempotencyKey makes a repeated POST return the first event. A question is only returned
	// for the same body, or for the same question with its RequestSecret; anything else is
	// ErrKeyConflict.
	IdempotencyKey string `json:"idempotency_key,omitempty"`

	HumanInTheLoop       *HumanInTheLoop `json:"humanInTheLoop,omitempty"`
	HumanInTheLoopStatus *Status         `json:"humanInTheLoopStatus,omitempty"`

	// PayloadTruncated marks an event in a list or stream whose payload exceeded the size limit.
	// PayloadBytes is the full size. GET /events/:id returns the payload.
	PayloadTruncated bool `json:"payloadTruncated,omitempty"`
	PayloadBytes     int  `json:"payloadBytes,omitempty"`
	// QuestionTruncated marks a question that a list with summary=1 shortened: the texts and arguments
	// of HumanInTheLoop are cut or missing. GET /events/:id returns the question.
	QuestionTruncated bool `json:"questionTruncated,omitempty"`

	// RequestSecret is returned only to the sender of a question without an own request secret.
	// With it the agent can withdraw the question and fetch its answer.
	RequestSecret string `json:"requestSecret,omitempty"`
	// Watching is returned only to the sender of a question: the number of open streams at that
	// moment. With 0, there may be no one to see the question in time.
	Watching *int `json:"watching,omitempty"`

	// Extra holds unknown members. They are kept and echoed.
	Extra map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON decodes an event and keeps unknown members in Extra. Its errors are *FieldError and
// wrap ErrInvalid.
func (e *Event) UnmarshalJSON(b []byte) error { return object.Decode(b, e, false) }

// MarshalJSON encodes the event, followed by the members of Extra.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return object.Encode(plain(e), e.Extra)
}

// Truncate replaces a payload of more than limit bytes with {} and sets PayloadTruncated and
// PayloadBytes.
func (e *Event) Truncate(limit int) {
	if len(e.Payload) <= limit {
		return
	}
	e.PayloadTruncated, e.PayloadBytes = true, len(e.Payload)
	e.Payload = json.RawMessage("{}")
}

// String returns a short line for logs, without the payload, the question and the address.
func (e Event) String() string {
	return fmt.Sprintf("event %d %s/%s %s", e.ID, e.SourceApp, e.SessionID, e.HookEventType)
}

// String returns the id in decimal, as in a path.
func (id EventID) String() string { return strconv.FormatInt(int64(id), 10) }
