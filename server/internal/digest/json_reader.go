package digest

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// decoderPool are used again: one is larger than the event it reads.
var decoderPool = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

func borrowDecoder(raw []byte) *jsontext.Decoder {
	dec := decoderPool.Get().(*jsontext.Decoder)
	dec.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return dec
}

// eachMember calls fn with each member of the JSON object raw, up to the first thing
// that is not JSON. Anything but an object has none.
func eachMember(raw []byte, fn func(name string, value []byte)) {
	if len(raw) == 0 {
		return
	}
	dec := borrowDecoder(raw)
	defer decoderPool.Put(dec)
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

// eachElement calls fn with each element of the JSON array raw, as members does.
func eachElement(raw []byte, fn func(value []byte)) {
	if len(raw) == 0 {
		return
	}
	dec := borrowDecoder(raw)
	defer decoderPool.Put(dec)
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

// findMember is one member of the object raw; nil when there is none.
func findMember(raw []byte, name string) (found []byte) {
	eachMember(raw, func(n string, value []byte) {
		if n == name {
			found = bytes.Clone(value)
		}
	})
	return found
}

// stringValue is a JSON string's text; anything else is no text.
func stringValue(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(b)
}

// boundedNumber is a JSON number from 0 to limit, and 0 for anything else.
func boundedNumber(value []byte, limit float64) float64 {
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(n >= 0 && n <= limit) {
		return 0
	}
	return n
}
