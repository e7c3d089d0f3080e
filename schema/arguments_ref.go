package schema

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// ResolveArguments sets the arguments of a call that refers to them by ArgumentsRef, and a missing
// name to tool, the tool_name of the event. payload is the event's payload. A pointer must name
// one existing object in it. Calls without ArgumentsRef do not change.
func (c *ToolCall) ResolveArguments(payload json.RawMessage, tool string) error {
	if c == nil || c.ArgumentsRef == "" {
		return nil
	}
	if c.Arguments != nil {
		return invalid("toolCall.argumentsRef", "must be absent if arguments is set")
	}
	steps := strings.Split(c.ArgumentsRef, "/")
	if steps[0] != "" || len(steps) > MaxDepth {
		return invalid("toolCall.argumentsRef", "must be a JSON Pointer into payload, such as /tool_input")
	}
	value := payload
	for _, step := range steps[1:] {
		// A name that occurs twice is ambiguous: the agent could run the other value.
		all := valuesAt(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		if len(all) != 1 {
			return invalid("toolCall.argumentsRef", "must name exactly one value in payload")
		}
		value = all[0]
	}
	if !bytes.HasPrefix(value, []byte("{")) {
		return invalid("toolCall.argumentsRef", "must name an object in payload")
	}
	if c.Name == "" {
		c.Name = tool
	}
	if c.Name == "" {
		return invalid("toolCall.name", "is required")
	}
	c.Arguments = value
	return nil
}

// valuesAt returns the values of an object's members with that name, or of an array's element
// with that index.
func valuesAt(container json.RawMessage, name string) (all []json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(container))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return nil
	}
	for i := 0; d.More(); i++ {
		key := any(strconv.Itoa(i))
		if open == json.Delim('{') {
			if key, err = d.Token(); err != nil {
				return nil
			}
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		if key == name {
			all = append(all, value)
		}
	}
	return all
}
