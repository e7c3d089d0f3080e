package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

// ErrInput is wrapped by errors about an input that is no hook input. There is nothing
// to send and nothing to answer.
var ErrInput = errors.New("not a hook input")

// object is a JSON object from an agent. Members are decoded one by one, so that an
// unexpected type affects that member only.
type object map[string]json.RawMessage

// Parsed returns in with its stdin decoded, for callers that use it more than once.
// It ignores errors; Parse reports them.
func (in Input) Parsed() Input {
	in.parsed, _ = in.parseObject()
	return in
}

// parsedInput is an agent's input.
type parsedInput struct {
	members object
	// payload is valid JSON: the input without the surrounding white space and byte order
	// mark, and without what sanitized and unreadable describe.
	payload    json.RawMessage
	sanitized  bool // the payload differs from the input
	unreadable bool // a member is no JSON that can be read, and was left out
}

// parseObject decodes stdin. Invalid UTF-8 and halves of surrogate pairs become U+FFFD. Members that can't be read, for
// example because they nest too deep, are replaced by a text.
func (in Input) parseObject() (*parsedInput, error) {
	if in.parsed != nil {
		return in.parsed, nil
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(in.Stdin), []byte("\ufeff")))
	p := &parsedInput{payload: text}
	if !utf8.Valid(text) {
		p.payload, p.sanitized = bytes.ToValidUTF8(text, []byte("\ufffd")), true
	}
	if fixed, changed := schema.ReplaceHalfSurrogates(p.payload); changed {
		p.payload, p.sanitized = fixed, true
	}
	o, err := decodeObject(p.payload)
	if err != nil {
		if members, valid, ok := salvage(p.payload); ok {
			o, p.payload, p.sanitized, p.unreadable = members, valid, true, true
		}
	}
	switch p.members = o; {
	case o == nil && err != nil:
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	case o == nil:
		return nil, fmt.Errorf("%w: the input is null", ErrInput)
	}
	return p, nil
}

// text returns a string member, or "".
func (o object) text(name string) string { return stringValue(o[name]) }

// boolean returns a boolean member, or nil.
func (o object) boolean(name string) *bool {
	value := string(o[name]) == "true"
	if !value && string(o[name]) != "false" {
		return nil
	}
	return &value
}

// object returns an object member, or nil.
func (o object) object(name string) object {
	inner, _ := splitObject(o[name])
	return inner
}

// array returns an array member, or nil.
func (o object) array(name string) []json.RawMessage {
	var all []json.RawMessage
	if bytes.HasPrefix(o[name], []byte("[")) {
		_ = json.Unmarshal(o[name], &all)
	}
	return all
}

// has reports whether o has that member, of any type.
func (o object) has(name string) bool { return o[name] != nil }

// nameText returns a string member, cut to the length of the hub's name columns.
func (o object) nameText(member string) string { return clip(o.text(member), schema.MaxName) }

// maxSummary is the maximum length of an event's summary, in characters.
const maxSummary = 120

// clip cuts s to at most n bytes at a character boundary.
func clip(s string, n int) string { return schema.Clip(s, n) }

// copyCommonFields copies the members that several agents send under the same names
// from the payload into e.
func copyCommonFields(e *schema.Event, o object) {
	e.ToolUseID = o.nameText("tool_use_id")
	e.ModelName = o.nameText("model")
	e.AgentID = o.nameText("agent_id")
	e.AgentType = o.nameText("agent_type")
	e.Error = clip(o.text("error"), schema.MaxReason)
	e.IsInterrupt = o.boolean("is_interrupt")
	if o.array("permission_suggestions") != nil {
		e.PermissionSuggestions = o["permission_suggestions"]
	}
	e.AgentTranscriptPath = clip(o.text("agent_transcript_path"), schema.MaxReason)
	e.StopHookActive = o.boolean("stop_hook_active")
	e.NotificationType = o.nameText("notification_type")
	e.CustomInstructions = clip(o.text("custom_instructions"), schema.MaxReason)
	e.Source = o.nameText("source")
	e.Reason = clip(o.text("reason"), schema.MaxReason)
}
