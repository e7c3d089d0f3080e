package digest

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
)

// decoderPool reuses decoders, because a decoder is larger than the event it reads.
var decoderPool = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// Members calls fn with each member of the JSON object raw: its name, and as parts of raw its name as written
// and its value. Equal names are left to fn. It returns the first error of fn, or a *schema.FieldError if raw
// is not exactly one object.
func Members(raw []byte, fn func(name string, rawName, value []byte) error) error {
	return readEach(raw, '{', "object", fn)
}

// Elements calls fn with each element of the JSON array raw, like Members.
func Elements(raw []byte, fn func(value []byte) error) error {
	return readEach(raw, '[', "array", func(_ string, _, value []byte) error { return fn(value) })
}

// EachMember calls fn with the members of the JSON object raw up to the first syntax error, and for nothing if
// raw is not an object. value is a part of raw.
func EachMember(raw []byte, fn func(name string, value []byte)) {
	_ = Members(raw, func(name string, _, value []byte) error {
		fn(name, value)
		return nil
	})
}

// eachElement calls fn with each element of the JSON array raw, like EachMember.
func eachElement(raw []byte, fn func(value []byte)) {
	_ = Elements(raw, func(value []byte) error {
		fn(value)
		return nil
	})
}

func readEach(raw []byte, opening jsontext.Kind, kind string, fn func(name string, rawName, value []byte) error) error {
	dec := decoderPool.Get().(*jsontext.Decoder)
	defer decoderPool.Put(dec)
	dec.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != opening {
		return &schema.FieldError{Detail: "must be a JSON " + kind}
	}
	if _, err := dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	for closing := opening + 2; dec.PeekKind() != closing; {
		var name string
		var rawName []byte
		if opening == '{' {
			var err error
			if rawName, err = readValue(dec, raw); err != nil {
				return err
			}
			name = Unquote(rawName)
		}
		value, err := readValue(dec, raw)
		if err != nil {
			return err
		}
		if err := fn(name, rawName, value); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	if len(bytes.TrimLeft(raw[dec.InputOffset():], " \t\r\n")) > 0 {
		return &schema.FieldError{Detail: "has data after the JSON " + kind}
	}
	return nil
}

// readValue returns the next value as a part of raw.
func readValue(dec *jsontext.Decoder, raw []byte) ([]byte, error) {
	v, err := dec.ReadValue()
	if err != nil {
		return nil, syntaxError(err)
	}
	end := int(dec.InputOffset())
	return raw[end-len(v) : end : end], nil
}

func syntaxError(err error) error {
	if strings.Contains(err.Error(), "EOF") {
		return &schema.FieldError{Detail: "is incomplete JSON"}
	}
	return &schema.FieldError{Detail: "is not valid JSON"}
}

// usualNames are the members of most events, of their payloads and of questions. They need no allocation.
var usualNames = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"source_app", "session_id", "hook_event_type", "hook_event_name", "tool_name", "tool_use_id", "model_name", "summary", "error",
		"agent", "agent_id", "agent_type", "parent_session_id", "timestamp", "transcript_path", "cwd", "permission_mode", "tool_input",
		"tool_response", "command", "description", "timeout", "file_path", "content", "old_string", "new_string", "pattern", "path",
		"prompt", "message", "stdout", "stderr", "payload", "chat", "humanInTheLoop", "humanInTheLoopStatus", "idempotency_key",
		"requestSecret", "tokenOwner", "os_user", "user_email", "hook", "agent_transcript_path", "custom_instructions",
		"notification_type", "permission_suggestions", "source", "reason", "is_interrupt", "stop_hook_active",
	} {
		names[name] = name
	}
	return names
}()

// Unquote returns the text of a JSON string that a decoder has read, with invalid UTF-8 replaced.
func Unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') >= 0 || !utf8.Valid(raw) {
		text, _ := jsontext.AppendUnquote(nil, raw)
		return string(text)
	}
	plain := raw[1 : len(raw)-1]
	if name, ok := usualNames[string(plain)]; ok {
		return name
	}
	return string(plain)
}

// FindMember returns a copy of the named member of the object raw, or nil.
func FindMember(raw []byte, name string) (found []byte) {
	EachMember(raw, func(n string, value []byte) {
		if n == name {
			found = bytes.Clone(value)
		}
	})
	return found
}

// StringValue returns the text of a JSON string, or "" for any other value.
func StringValue(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(b)
}

// boundedNumber returns a JSON number from 0 to limit, or 0 for any other value.
func boundedNumber(value []byte, limit float64) float64 {
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(n >= 0 && n <= limit) {
		return 0
	}
	return n
}
