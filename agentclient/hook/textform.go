package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
)

// oneLine returns text on one line of at most n characters, without control, format
// (bidirectional, zero-width) and invalid characters.
func oneLine(text string, n int) string {
	text = schema.Clip(text, 16*n)
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
	return schema.Shorten(strings.Join(strings.Fields(text), " "), n)
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

// upperFirst returns an event name in Claude Code's PascalCase.
func upperFirst(name string) string {
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		return name
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// lowerFirst is the inverse of upperFirst.
func lowerFirst(name string) string {
	if name == "" || name[0] < 'A' || name[0] > 'Z' {
		return name
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// quoteWord quotes s for a POSIX shell if it is not one plain word.
func quoteWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`\\$&|;<>()*?[]#~!{}", r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// clipUTF16 cuts s to at most n UTF-16 code units.
func clipUTF16(s string, n int) string {
	if len(s) <= n {
		return s
	}
	units := 0
	for i, r := range s {
		if units += max(1, utf16.RuneLen(r)); units >= n {
			return s[:i] + "…"
		}
	}
	return s
}

// formatAnswers returns the answers by question on one line of at most n bytes.
func formatAnswers(answers map[string][]string, n int) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		parts = append(parts, fmt.Sprintf("%s: %s", id, strings.Join(answers[id], ", ")))
	}
	return schema.Clip(strings.Join(parts, "; "), n)
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

// encodeMembers encodes the pairs of a name and a value as an object, in this order. It leaves out values that
// encode to null or "".
func encodeMembers(pairs ...any) json.RawMessage {
	o := []byte("{")
	for pair := range slices.Chunk(pairs, 2) {
		value := encodeJSON(pair[1])
		if value == nil {
			return nil // unreachable, as in encodeJSON
		}
		if string(value) == "null" || string(value) == `""` {
			continue
		}
		if len(o) > 1 {
			o = append(o, ',')
		}
		o = append(append(append(o, encodeJSON(pair[0])...), ':'), value...)
	}
	return append(o, '}')
}

// unwrapJSONString returns the object that is encoded in a JSON string, because some
// agents send tool arguments that way. Any other value is returned unchanged.
func unwrapJSONString(raw json.RawMessage) json.RawMessage {
	inner := stringValue(raw)
	if _, ok := splitObject([]byte(inner)); ok {
		return json.RawMessage(strings.TrimSpace(inner))
	}
	return raw
}

// pickMembers returns a JSON object with the named members of o.
func pickMembers(o map[string]json.RawMessage, names ...string) json.RawMessage {
	arguments := map[string]json.RawMessage{}
	for _, name := range names {
		if o[name] != nil {
			arguments[name] = o[name]
		}
	}
	return encodeJSON(arguments)
}

// salvage returns the members of an object that is no valid JSON, with a text in place of
// the unreadable members, and the object with these members. ok is false if not even the
// object itself can be read.
func salvage(text []byte) (o map[string]json.RawMessage, valid []byte, ok bool) {
	o, ok = splitOuter(text)
	if !ok || len(o) == 0 {
		return nil, nil, false
	}
	for name, value := range o {
		if !Valid(value) {
			o[name] = encodeJSON(fmt.Sprintf("[hookback left out %d bytes that it can't read]", len(value)))
		}
	}
	return o, encodeJSON(o), true
}

// taskNotification returns the summary in the prompt that Claude Code creates when a
// background task ends. ok is false for any other prompt.
func taskNotification(prompt string) (summary string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(prompt), "<task-notification>")
	if !ok {
		return "", false
	}
	_, summary, _ = strings.Cut(rest, "<summary>")
	summary, _, _ = strings.Cut(summary, "</summary>")
	return cmp.Or(strings.TrimSpace(summary), "A background task has ended"), true
}
