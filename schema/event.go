package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// EventID numbers an event. The hub gives it out: 1, 2, 3 … in the order of
// commit; it is also the event's sequence number on the stream.
type EventID int64

// Millis is a point in time on the wire: Unix time in milliseconds. A fraction
// sent by a client is cut off.
type Millis int64

// maxMillis is the last moment that a Date in a browser can hold.
const maxMillis = 8_640_000_000_000_000

// UnmarshalJSON accepts any JSON number a browser's Date can hold.
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

// Event is what a hook tells the hub: something an agent did or is about to do,
// and, with HumanInTheLoop, a question to a person.
//
// SourceApp, SessionID, HookEventType and Payload are required. ID, UID and
// HumanInTheLoopStatus belong to the hub; sent by a client they are ignored.
type Event struct {
	ID  EventID `json:"id,omitempty"`
	UID string  `json:"uid,omitempty"` // UUIDv7, the same event in links and audits of any hub

	SourceApp     string          `json:"source_app"`
	SessionID     string          `json:"session_id"`
	HookEventType string          `json:"hook_event_type"`
	Payload       json.RawMessage `json:"payload" jsonschema:"type=object"` // a JSON object, kept byte for byte
	Timestamp     Millis          `json:"timestamp,omitempty"`              // the agent's clock; for display only

	Summary   string          `json:"summary,omitempty"`
	ModelName string          `json:"model_name,omitempty"`
	Chat      json.RawMessage `json:"chat,omitempty"` // a transcript; only GET /events/:id returns it

	// Agent is the coding agent whose hook posted the event: claude-code, codex,
	// gemini and so on (see agentclient/hook). Other programs leave it out.
	Agent string `json:"agent,omitempty"`

	// Copies of hook fields that clients lift out of the payload.
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

	// IdempotencyKey makes a repeated POST return the first event.
	IdempotencyKey string `json:"idempotency_key,omitempty"`

	HumanInTheLoop       *HumanInTheLoop `json:"humanInTheLoop,omitempty"`
	HumanInTheLoopStatus *Status         `json:"humanInTheLoopStatus,omitempty"`

	// PayloadTruncated marks an event of a list or a stream whose payload was
	// too big to carry along; PayloadBytes is its size. GET /events/:id has it.
	PayloadTruncated bool `json:"payloadTruncated,omitempty"`
	PayloadBytes     int  `json:"payloadBytes,omitempty"`

	// RequestSecret is returned to the poster of a question, to nobody else. It
	// lets the agent withdraw its question and pull its answer.
	RequestSecret string `json:"requestSecret,omitempty"`
	// Watching is returned to the poster of a question, too: how many streams follow
	// the hub at that moment. With none, nobody may see the question in time.
	Watching *int `json:"watching,omitempty"`

	// Extra holds the members this version does not know. They are kept and echoed.
	Extra map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON reads an event and keeps unknown members in Extra. Its errors
// are *FieldError and wrap ErrInvalid.
func (e *Event) UnmarshalJSON(b []byte) error { return decodeObject(b, e, false) }

// MarshalJSON writes the event with the members of Extra behind the known ones.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return encodeObject(plain(e), e.Extra)
}

// Truncate replaces a payload of more than limit bytes by {} and says so.
func (e *Event) Truncate(limit int) {
	if len(e.Payload) <= limit {
		return
	}
	e.PayloadTruncated, e.PayloadBytes = true, len(e.Payload)
	e.Payload = json.RawMessage("{}")
}

// String is a short line for logs: no payload, no question, no address.
func (e Event) String() string {
	return fmt.Sprintf("event %d %s/%s %s", e.ID, e.SourceApp, e.SessionID, e.HookEventType)
}

// String is the id in decimal, as it stands in a path.
func (id EventID) String() string { return strconv.FormatInt(int64(id), 10) }
