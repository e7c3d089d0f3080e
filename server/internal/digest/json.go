package digest

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// decoders are used again: one is larger than the event it reads.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

func decode(raw []byte) *jsontext.Decoder {
	dec := decoders.Get().(*jsontext.Decoder)
	dec.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return dec
}

// members calls fn with each member of the JSON object raw, up to the first thing
// that is not JSON. Anything but an object has none.
func members(raw []byte, fn func(name string, value []byte)) {
	if len(raw) == 0 {
		return
	}
	dec := decode(raw)
	defer decoders.Put(dec)
	if dec.PeekKind() != '{' {
		return
	}
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	var name []byte
	for dec.PeekKind() == '"' {
		key, err := dec.ReadValue()
		if err != nil {
			return
		}
		name, _ = jsontext.AppendUnquote(name[:0], key)
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		fn(string(name), value)
	}
}

// elements calls fn with each element of the JSON array raw, as members does.
func elements(raw []byte, fn func(value []byte)) {
	if len(raw) == 0 {
		return
	}
	dec := decode(raw)
	defer decoders.Put(dec)
	if dec.PeekKind() != '[' {
		return
	}
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		fn(value)
	}
}

// member is one member of the object raw; nil when there is none.
func member(raw []byte, name string) (found []byte) {
	members(raw, func(n string, value []byte) {
		if n == name {
			found = bytes.Clone(value)
		}
	})
	return found
}

// text is a JSON string's text; anything else is no text.
func text(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(b)
}

// number is a JSON number from 0 to limit, and 0 for anything else.
func number(value []byte, limit float64) float64 {
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(n >= 0 && n <= limit) {
		return 0
	}
	return n
}
