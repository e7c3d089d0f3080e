package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// unsupportedMembers are members of other approval protocols that restrict an answer, or the time
// and the people it needs. A hub that ignored them would accept an answer that the requester
// excluded. The value is the supported alternative, if there is one.
var unsupportedMembers = map[string]string{
	foldName("allowedDecisions"):      "use type and choices",
	foldName("vetoChoices"):           "",
	foldName("items"):                 "ask one question for each item, or use questions",
	foldName("supersedes"):            "cancel the earlier question",
	foldName("form"):                  "use questions",
	foldName("halt"):                  "",
	foldName("recipientDistribution"): "use recipients.mode",
	foldName("timeoutSeconds"):        "use timeout",
}

// foldName maps the spellings of a member name (camelCase, snake_case, kebab-case, any case) to
// one.
func foldName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// similarMember returns the member of struct type t that name misspells, or "".
func similarMember(t reflect.Type, name string) string {
	folded := foldName(name)
	for i := range t.NumField() {
		canonical, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if canonical != "" && canonical != "-" && foldName(canonical) == folded {
			return canonical
		}
	}
	return ""
}

// checkSpelling rejects unknown members of a struct of type t that misspell a known one. Ignoring
// RequiredApprovals, for example, would let one person decide.
func checkSpelling(t reflect.Type, unknown map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		if similar := similarMember(t, name); similar != "" {
			return invalid(name, "is not a member of this message; use "+similar)
		}
	}
	return nil
}

// checkSupported rejects unsupportedMembers in any spelling.
func checkSupported(unknown map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		alternative, unsupported := unsupportedMembers[foldName(name)]
		switch {
		case unsupported && alternative != "":
			return invalid(name, "is not supported; "+alternative)
		case unsupported:
			return invalid(name, "is not supported")
		}
	}
	return nil
}

// validateMembers rejects unknown members that the requester may expect to restrict the answer.
// Others are kept. The check is part of validation rather than of decoding, because stored questions
// must stay readable.
func (q *HumanInTheLoop) validateMembers() error {
	if err := checkSupported(q.Extra); err != nil {
		return err
	}
	type part struct {
		field string
		value any
		extra map[string]json.RawMessage
	}
	parts := []part{{"", *q, q.Extra}}
	if q.ToolCall != nil {
		parts = append(parts, part{"toolCall", *q.ToolCall, q.ToolCall.Extra})
	}
	if q.Recipients != nil {
		parts = append(parts, part{"recipients", *q.Recipients, q.Recipients.Extra})
	}
	if q.EscalateTo != nil {
		parts = append(parts, part{"escalateTo", *q.EscalateTo, q.EscalateTo.Extra})
	}
	for _, sub := range q.Questions {
		parts = append(parts, part{"questions", sub, sub.Extra})
	}
	for _, p := range parts {
		if err := checkSpelling(reflect.TypeOf(p.value), p.extra); err != nil {
			if p.field == "" {
				return err
			}
			return fieldError(p.field, err)
		}
	}
	return nil
}

// CheckEventMember rejects an unknown member of an event that misspells humanInTheLoop: the hub
// would store the event, and the agent would wait for an answer to a question that no one sees.
func CheckEventMember(name string) error {
	const question = "humanInTheLoop"
	// The first test is cheap: it runs for every member of every event.
	if len(name) < len(question) || name[0]|0x20 != 'h' || name[len(name)-1]|0x20 != 'p' || foldName(name) != foldName(question) {
		return nil
	}
	return invalid(name, "is not a member of an event; use "+question)
}

// duplicateName returns a member name that occurs twice in an object of the valid JSON text raw, at
// any depth, or "" if every name is unique. Parsers differ in which of the two they take.
func duplicateName(raw json.RawMessage) (name string, found bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()              // a float64 can't hold every valid number
	var open []map[string]bool // names of the open objects; nil for an array
	isValue := false           // the next token of the innermost object is a value
	for {
		token, err := d.Token()
		if err != nil {
			return "", false
		}
		var names map[string]bool
		if len(open) > 0 {
			names = open[len(open)-1]
		}
		key, isString := token.(string)
		if names != nil && !isValue && isString {
			if names[key] {
				return key, true
			}
			names[key], isValue = true, true
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]bool{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		isValue = false
	}
}
