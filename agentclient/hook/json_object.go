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

// ErrInput means that an input is no hook's: there is nothing to tell and nothing
// to answer.
var ErrInput = errors.New("this is no hook's input")

// object is a JSON object that an agent wrote. Its members are read one by one, so
// that one of an unexpected type costs no other.
type object map[string]json.RawMessage

// Parsed is the same input with its text read, for those who need it more than once.
// What is wrong with the text, Read says.
func (in Input) Parsed() Input {
	in.members, in.payload, _ = in.parseObject()
	return in
}

// parseObject reads stdin. payload is the same text, untouched but for the space and the
// byte order mark around it, and valid.
func (in Input) parseObject() (o object, payload json.RawMessage, err error) {
	if in.members != nil {
		return in.members, in.payload, nil
	}
	payload = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(in.Stdin), []byte("\ufeff")))
	if err := o.decode(payload); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if o == nil {
		return nil, nil, fmt.Errorf("%w: it is null", ErrInput)
	}
	return o, payload, nil
}

// text is a member that is a string, or "".
func (o object) text(name string) string { return text(o[name]) }

// boolean is a member that is true or false, or nil.
func (o object) boolean(name string) *bool {
	is := string(o[name]) == "true"
	if !is && string(o[name]) != "false" {
		return nil
	}
	return &is
}

// object is a member that is an object, or nil.
func (o object) object(name string) object {
	inner, _ := splitObject(o[name])
	return inner
}

// array is a member that is an array, or nil.
func (o object) array(name string) []json.RawMessage {
	var all []json.RawMessage
	if bytes.HasPrefix(o[name], []byte("[")) {
		_ = json.Unmarshal(o[name], &all)
	}
	return all
}

// has reports whether there is such a member, of whatever type.
func (o object) has(name string) bool { return o[name] != nil }

// nameText is a member for one of the hub's name columns: none that it would refuse.
func (o object) nameText(member string) string { return clip(o.text(member), schema.MaxName) }

// clip cuts s to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// projectName is the name of the folder that an agent works in, wherever it runs.
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

// maxSummary is the length of an event's summary, in characters.
const maxSummary = 120

// oneLine is text on one line, of at most n characters, without any that can't be
// seen or that change the order of others.
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

// compactJSON is JSON on one line, for a person; text that is none as it is.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// encodeJSON writes v on one line. It leaves <, > and & as they are: the agent shows
// some of these texts to its user.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil // never: silence is no opinion
	}
	return bytes.TrimSpace(b.Bytes())
}

// copyCommonFields copies what several agents tell under the same names, of an event's payload
// into its own members.
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
