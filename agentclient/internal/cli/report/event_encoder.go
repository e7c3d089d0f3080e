package report

import (
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
)

// EncodeEvent encodes an event without a question as JSON. The result aliases
// e.Payload, so that the payload, most of the event, is not copied. It returns an error
// if the event has a question or the payload is not valid JSON.
//
// encoding/json would first inspect every type that an event can hold. That takes a
// third of a millisecond, and a hook runs for two.
func EncodeEvent(e *schema.Event) (net.Buffers, error) {
	if e.HumanInTheLoop != nil || e.HumanInTheLoopStatus != nil {
		return nil, errors.New("event has a question, which EncodeEvent does not support")
	}
	if !hook.Valid(e.Payload) {
		return nil, errors.New("payload is not valid JSON")
	}
	head := make(jsonObject, 1, 1<<10)
	head[0] = '{'
	for _, m := range []struct{ name, value string }{
		{"source_app", e.SourceApp}, {"session_id", e.SessionID}, {"hook_event_type", e.HookEventType},
		{"summary", e.Summary}, {"model_name", e.ModelName}, {"agent", e.Agent}, {"tool_name", e.ToolName},
		{"tool_use_id", e.ToolUseID}, {"agent_id", e.AgentID}, {"agent_type", e.AgentType},
		{"parent_session_id", e.ParentSessionID}, {"error", e.Error}, {"agent_transcript_path", e.AgentTranscriptPath},
		{"notification_type", e.NotificationType}, {"custom_instructions", e.CustomInstructions}, {"source", e.Source},
		{"reason", e.Reason}, {"os_user", e.OSUser}, {"user_email", e.UserEmail}, {"idempotency_key", e.IdempotencyKey},
	} {
		head.addString(m.name, m.value)
	}
	if e.Timestamp != 0 {
		head.addRaw("timestamp", strconv.AppendInt(nil, int64(e.Timestamp), 10))
	}
	head.addBool("is_interrupt", e.IsInterrupt)
	head.addBool("stop_hook_active", e.StopHookActive)
	if e.PayloadSanitized {
		head.addRaw("payloadSanitized", []byte("true"))
	}
	for _, m := range []struct {
		name  string
		value json.RawMessage
	}{{"chat", e.Chat}, {"permission_suggestions", e.PermissionSuggestions}} {
		if len(m.value) > 0 && json.Valid(m.value) {
			head.addRaw(m.name, m.value)
		}
	}
	if len(e.ModelUsage) > 0 {
		usage, err := json.Marshal(e.ModelUsage)
		if err != nil {
			return nil, err
		}
		head.addRaw("modelUsage", usage)
	}
	for name, value := range e.Extra {
		if json.Valid(value) {
			head.addRaw(name, value)
		}
	}
	head.addKey("payload")
	return net.Buffers{head, e.Payload, []byte("}")}, nil
}

// jsonObject is a JSON object under construction, without its closing brace.
type jsonObject []byte

func (o *jsonObject) addKey(name string) {
	if len(*o) > 1 {
		*o = append(*o, ',')
	}
	*o = append(appendString(*o, name), ':')
}

// addString adds a string member unless value is empty.
func (o *jsonObject) addString(name, value string) {
	if value == "" {
		return
	}
	o.addKey(name)
	*o = appendString(*o, value)
}

// addBool adds a boolean member unless value is nil.
func (o *jsonObject) addBool(name string, value *bool) {
	if value == nil {
		return
	}
	o.addKey(name)
	*o = strconv.AppendBool(*o, *value)
}

func (o *jsonObject) addRaw(name string, value []byte) {
	o.addKey(name)
	*o = append(*o, value...)
}

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(slices.Grow(b, len(s)+2), '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
