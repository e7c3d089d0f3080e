package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
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
	in.members, in.payload, _ = in.parseObject()
	return in
}

// parseObject decodes stdin. payload is the same valid JSON text without the
// surrounding white space and byte order mark.
func (in Input) parseObject() (o object, payload json.RawMessage, err error) {
	if in.members != nil {
		return in.members, in.payload, nil
	}
	payload = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(in.Stdin), []byte("\ufeff")))
	if err := o.decode(payload); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if o == nil {
		return nil, nil, fmt.Errorf("%w: the input is null", ErrInput)
	}
	return o, payload, nil
}

// text returns a string member, or "".
func (o object) text(name string) string { return text(o[name]) }

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

// clip cuts s to at most n bytes at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// projectName returns the base name of the first usable directory, or "". It accepts
// the path separators of every system, because a hook's input may come from another.
func projectName(dirs ...string) string {
	for _, dir := range dirs {
		dir = strings.TrimRight(dir, `/\`)
		if i := strings.LastIndexAny(dir, `/\`); i >= 0 {
			dir = dir[i+1:]
		}
		if dir = clip(strings.TrimSpace(dir), schema.MaxName); dir != "" && !strings.HasSuffix(dir, ":") {
			return dir
		}
	}
	return ""
}

// maxSummary is the maximum length of an event's summary, in characters.
const maxSummary = 120

// oneLine returns text on one line of at most n characters, without control, format
// (bidirectional, zero-width) and invalid characters.
func oneLine(text string, n int) string {
	text = clip(text, 16*n)
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
			return -1
		default:
			return r
		}
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// compactJSON returns JSON on one line for people to read. Invalid JSON is returned
// unchanged.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// encodeJSON encodes v on one line. It doesn't escape <, > and &, because agents show
// some of these texts to their users.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // unreachable; an empty reply means no opinion
	}
	return bytes.TrimSpace(b.Bytes())
}

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
