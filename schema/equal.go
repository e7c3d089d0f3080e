package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// EqualJSON reports whether two JSON texts have the same value. White space, member order and escapes
// don't matter. Numbers are compared as text: as floats, two different long ids could be equal. Two
// empty texts are equal.
func EqualJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	return decodeExact(a, &x) && decodeExact(b, &y) && reflect.DeepEqual(x, y)
}

func decodeExact(raw json.RawMessage, v *any) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return json.Valid(raw) && d.Decode(v) == nil
}

// SameJSON compares JSON texts like EqualJSON, but numbers as floats: a browser that parses and encodes a
// suggestion again turns 1.0 into 1. It is not for arguments, whose long ids must stay different.
func SameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
