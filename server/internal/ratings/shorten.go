package ratings

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// shortenArguments returns the JSON arguments with about limit bytes: its strings are cut once the
// limit is reached, and the rest is left out. Invalid JSON becomes null.
func shortenArguments(arguments []byte, limit int) []byte {
	var out bytes.Buffer
	in, enc := jsontext.NewDecoder(bytes.NewReader(arguments), jsontext.AllowDuplicateNames(true)),
		jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))
	for int(in.InputOffset()) < limit {
		t, err := in.ReadToken()
		if err != nil {
			return []byte("null")
		}
		if t.Kind() == '"' && int(in.InputOffset()) > limit {
			text := t.String()
			kind, n := in.StackIndex(in.StackDepth())
			if kind == '{' && n%2 == 1 { // a member's name: nothing of the object follows
				break
			}
			t = jsontext.String(text[:max(0, len(text)-(int(in.InputOffset())-limit))])
		}
		if enc.WriteToken(t) != nil {
			return []byte("null")
		}
		if in.StackDepth() == 0 {
			return out.Bytes()
		}
	}
	for enc.StackDepth() > 0 {
		kind, n := enc.StackIndex(enc.StackDepth())
		closing := jsontext.EndArray
		if kind == '{' {
			closing = jsontext.EndObject
			if n%2 == 1 && enc.WriteToken(jsontext.Null) != nil {
				return []byte("null")
			}
		}
		if enc.WriteToken(closing) != nil {
			return []byte("null")
		}
	}
	if !json.Valid(out.Bytes()) {
		return []byte("null")
	}
	return out.Bytes()
}
