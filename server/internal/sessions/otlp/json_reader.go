package otlp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/hookback/hookback/schema"
)

// decodeJSON decodes a body, which must be one JSON object. Members of other types than OTLP's stay
// zero. Its only error is ErrMalformed.
func decodeJSON(body []byte, into any) error {
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) == 0 || body[0] != '{' {
		return ErrMalformed
	}
	var otherType *json.UnmarshalTypeError
	if err := json.Unmarshal(body, into); err != nil && !errors.As(err, &otherType) {
		return ErrMalformed
	}
	return nil
}

// scalar is a string, number or boolean as text; empty for any other value.
type scalar string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '{', '[', 'n':
	case '"':
		var text string
		_ = json.Unmarshal(raw, &text) // a valid string
		*s = scalar(text)
	default:
		*s = scalar(raw)
	}
	return nil
}

// number returns the number, also of a string that contains one, as OTLP encodes 64-bit
// integers. It is 0 for any other value.
func (s scalar) number() float64 {
	n, err := strconv.ParseFloat(string(s), 64)
	if err != nil {
		return 0
	}
	return n
}

// time converts a time in ns.
func (s scalar) time() schema.Millis { return schema.Millis(boundedInt(s.number()/1e6, 8.64e15)) }

// anyValue is a scalar AnyValue.
type anyValue struct {
	String scalar `json:"stringValue" pb:"1,text"`
	Int    scalar `json:"intValue" pb:"3,int"`
	Double scalar `json:"doubleValue" pb:"4,double"`
	Bool   scalar `json:"boolValue" pb:"2,bool"`
}

func (v anyValue) text() string {
	return schema.Clip(string(cmp.Or(v.String, v.Int, v.Double, v.Bool)), maxText)
}

// attribute is one attribute of a record or resource.
type attribute struct {
	Key   scalar   `json:"key" pb:"1,text"`
	Value anyValue `json:"value" pb:"2"`
}

// resource is the source of the records that follow.
type resource struct {
	Attributes []attribute `json:"attributes" pb:"1"`
}

func (r *resource) serviceName() string { return newAttributes(r.Attributes)["service.name"] }

// attributes are the attributes of a record, as text.
type attributes map[string]string

// newAttributes returns the attributes of a list. The last of equal names wins.
func newAttributes(list []attribute) attributes {
	attrs := attributes{}
	for i := range list {
		key := string(list[i].Key)
		if len(key) <= maxText && (len(attrs) < maxAttributes || attrs[key] != "") {
			attrs[key] = list[i].Value.text()
		}
	}
	return attrs
}

func (a attributes) number(key string) float64 { return scalar(a[key]).number() }

func (a attributes) tokens(key string) int64 { return boundedInt(a.number(key), maxTokens) }
