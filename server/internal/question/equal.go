package question

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/hookback/hookback/schema"
)

// equalAnswer reports whether r has the same content as the stored answer a.
func equalAnswer(a *schema.Answer, r *schema.Response) bool {
	return a != nil && equalPtr(a.Permission, r.Permission) && equalPtr(a.Response, r.Response) && equalPtr(a.Choice, r.Choice) &&
		maps.EqualFunc(a.Answers, r.Answers, equalJSON) && equalJSON(a.ModifiedArguments, r.ModifiedArguments) &&
		a.Reason == r.Reason && a.Comment == r.Comment && equalJSON(a.Remember, r.Remember) &&
		a.Interrupt == r.Interrupt && a.AskBack == r.AskBack
}

func equalPtr[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// equalJSON reports whether two JSON texts have the same value. White space, member
// order and escapes don't matter. Two empty texts are equal.
func equalJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errX := decodeExact(a)
	y, errY := decodeExact(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// decodeExact decodes JSON with numbers kept as text: as floats, two different long ids
// could compare equal.
func decodeExact(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v)
}
