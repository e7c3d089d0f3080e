package digest

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// decoderPool reuses decoders, because a decoder is larger than the event it reads.
var decoderPool = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

func borrowDecoder(raw []byte) *jsontext.Decoder {
	dec := decoderPool.Get().(*jsontext.Decoder)
	dec.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return dec
}

// EachMember calls fn with each member of the JSON object raw, and stops at the first syntax
// error. It calls fn for nothing if raw is not an object. value is valid only during the call.
func EachMember(raw []byte, fn func(name string, value []byte)) { each(raw, '{', fn) }

// eachElement calls fn with each element of the JSON array raw, like EachMember.
func eachElement(raw []byte, fn func(value []byte)) {
	each(raw, '[', func(_ string, value []byte) { fn(value) })
}

func each(raw []byte, opening jsontext.Kind, fn func(name string, value []byte)) {
	if len(raw) == 0 {
		return
	}
	dec := borrowDecoder(raw)
	defer decoderPool.Put(dec)
	if dec.PeekKind() != opening {
		return
	}
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	var name []byte
	for closing := opening + 2; dec.PeekKind() != closing; {
		if opening == '{' {
			key, err := dec.ReadValue()
			if err != nil {
				return
			}
			name, _ = jsontext.AppendUnquote(name[:0], key)
		}
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		fn(string(name), value)
	}
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
