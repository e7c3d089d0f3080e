package schema

import (
	"encoding/json"
	"reflect"

	"github.com/hookback/hookback/schema/internal/object"
)

// validateMembers rejects unknown members that the requester may expect to restrict the answer.
// Others are kept. The check is part of validation rather than of decoding, because stored questions
// must stay readable.
func (q *HumanInTheLoop) validateMembers() error {
	if err := object.CheckSupported(q.Extra); err != nil {
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
		if err := object.CheckSpelling(reflect.TypeOf(p.value), p.extra); err != nil {
			if p.field == "" {
				return err
			}
			return object.Wrap(p.field, err)
		}
	}
	return nil
}

// CheckEventMember rejects an unknown member of an event that misspells humanInTheLoop: the hub
// would store the event, and the agent would wait for an answer to a question that no one sees.
func CheckEventMember(name string) error {
	const question = "humanInTheLoop"
	// The first test is cheap: it runs for every member of every event.
	if len(name) < len(question) || name[0]|0x20 != 'h' || name[len(name)-1]|0x20 != 'p' ||
		object.FoldName(name) != object.FoldName(question) {
		return nil
	}
	return invalid(name, "is not a member of an event; use "+question)
}
