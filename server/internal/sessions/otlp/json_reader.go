package otlp

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
)

// jsonReader reads a body in one pass.
type jsonReader struct {
	*jsontext.Decoder
	records int
}

// readBody calls fn with the name of each member of the body, which must be one JSON object; fn
// reads the value. All its errors are ErrMalformed.
func readBody(body []byte, fn func(jr *jsonReader, name string) error) error {
	jr := &jsonReader{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if jr.PeekKind() != '{' {
		return ErrMalformed
	}
	if err := jr.readObject(func(name string) error { return fn(jr, name) }); err != nil {
		return ErrMalformed
	}
	if _, err := jr.ReadToken(); !errors.Is(err, io.EOF) {
		return ErrMalformed
	}
	return nil
}

// readObject calls fn with the name of each member; fn reads the value. It skips a value that is
// not an object.
func (jr *jsonReader) readObject(fn func(name string) error) error {
	if jr.PeekKind() != '{' {
		return jr.SkipValue()
	}
	if jr.StackDepth() > schema.MaxDepth {
		return ErrMalformed
	}
	if _, err := jr.ReadToken(); err != nil {
		return err
	}
	for jr.PeekKind() != '}' {
		name, err := jr.ReadToken()
		if err != nil {
			return err
		}
		if err := fn(name.String()); err != nil {
			return err
		}
	}
	_, err := jr.ReadToken()
	return err
}

// readArray calls fn for each element; fn reads the element. It skips a value that is not an
// array.
func (jr *jsonReader) readArray(fn func() error) error {
	if jr.PeekKind() != '[' {
		return jr.SkipValue()
	}
	if _, err := jr.ReadToken(); err != nil {
		return err
	}
	for jr.PeekKind() != ']' {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := jr.ReadToken()
	return err
}

// countRecord counts a log record or data point and returns ErrMalformed beyond MaxRecords.
func (jr *jsonReader) countRecord() error {
	if jr.records++; jr.records > MaxRecords {
		return ErrMalformed
	}
	return nil
}

// readScalar reads a string, number or boolean as text; ok is false for any other value.
func (jr *jsonReader) readScalar() (text string, ok bool, err error) {
	switch jr.PeekKind() {
	case '"', '0', 't', 'f':
		token, err := jr.ReadToken()
		if err != nil {
			return "", false, err
		}
		return token.String(), true, nil
	default:
		return "", false, jr.SkipValue()
	}
}

// readNumber reads a number, or a string that contains one, as OTLP encodes 64-bit integers. It
// returns 0 for any other value.
func (jr *jsonReader) readNumber() (float64, error) {
	text, _, err := jr.readScalar()
	n, parseErr := strconv.ParseFloat(text, 64)
	if parseErr != nil {
		n = 0
	}
	return n, err
}

// readTime reads a time in ns.
func (jr *jsonReader) readTime() (schema.Millis, error) {
	n, err := jr.readNumber()
	return schema.Millis(boundedInt(n/1e6, 8.64e15)), err
}

// readAnyValue reads a scalar AnyValue as text.
func (jr *jsonReader) readAnyValue() (found string, err error) {
	err = jr.readObject(func(name string) error {
		switch name {
		case "stringValue", "intValue", "doubleValue", "boolValue":
			text, ok, err := jr.readScalar()
			if ok {
				found = truncate(text)
			}
			return err
		default:
			return jr.SkipValue()
		}
	})
	return found, err
}

// readAttributes reads a list of attributes. The last of equal names wins.
func (jr *jsonReader) readAttributes(into attributes) error {
	return jr.readArray(func() error {
		var key, value string
		err := jr.readObject(func(name string) (err error) {
			switch name {
			case "key":
				key, _, err = jr.readScalar()
			case "value":
				value, err = jr.readAnyValue()
			default:
				err = jr.SkipValue()
			}
			return err
		})
		if len(key) <= maxText && (len(into) < maxAttributes || into[key] != "") {
			into[key] = value
		}
		return err
	})
}

// attributes are the attributes of a record, as text.
type attributes map[string]string

func (a attributes) number(key string) float64 {
	n, err := strconv.ParseFloat(a[key], 64)
	if err != nil {
		return 0
	}
	return n
}

func (a attributes) tokens(key string) int64 { return boundedInt(a.number(key), maxTokens) }

// readServiceName reads the service.name of a Resource.
func (jr *jsonReader) readServiceName() (service string, err error) {
	err = jr.readObject(func(name string) error {
		if name != "attributes" {
			return jr.SkipValue()
		}
		attrs := attributes{}
		err := jr.readAttributes(attrs)
		service = attrs["service.name"]
		return err
	})
	return service, err
}
