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
func readBody(body []byte, fn func(w *jsonReader, name string) error) error {
	w := &jsonReader{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if w.PeekKind() != '{' {
		return ErrMalformed
	}
	if err := w.readObject(func(name string) error { return fn(w, name) }); err != nil {
		return ErrMalformed
	}
	if _, err := w.ReadToken(); !errors.Is(err, io.EOF) {
		return ErrMalformed
	}
	return nil
}

// readObject calls fn with the name of each member; fn reads the value. It skips a value that is
// not an object.
func (w *jsonReader) readObject(fn func(name string) error) error {
	if w.PeekKind() != '{' {
		return w.SkipValue()
	}
	if w.StackDepth() > schema.MaxDepth {
		return ErrMalformed
	}
	if _, err := w.ReadToken(); err != nil {
		return err
	}
	for w.PeekKind() != '}' {
		name, err := w.ReadToken()
		if err != nil {
			return err
		}
		if err := fn(name.String()); err != nil {
			return err
		}
	}
	_, err := w.ReadToken()
	return err
}

// readArray calls fn for each element; fn reads the element. It skips a value that is not an
// array.
func (w *jsonReader) readArray(fn func() error) error {
	if w.PeekKind() != '[' {
		return w.SkipValue()
	}
	if _, err := w.ReadToken(); err != nil {
		return err
	}
	for w.PeekKind() != ']' {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := w.ReadToken()
	return err
}

// countRecord counts a log record or data point and returns ErrMalformed beyond MaxRecords.
func (w *jsonReader) countRecord() error {
	if w.records++; w.records > MaxRecords {
		return ErrMalformed
	}
	return nil
}

// readScalar reads a string, number or boolean as text; ok is false for any other value.
func (w *jsonReader) readScalar() (text string, ok bool, err error) {
	switch w.PeekKind() {
	case '"', '0', 't', 'f':
		token, err := w.ReadToken()
		if err != nil {
			return "", false, err
		}
		return token.String(), true, nil
	default:
		return "", false, w.SkipValue()
	}
}

// readNumber reads a number, or a string that contains one, as OTLP encodes 64-bit integers. It
// returns 0 for any other value.
func (w *jsonReader) readNumber() (float64, error) {
	text, _, err := w.readScalar()
	n, bad := strconv.ParseFloat(text, 64)
	if bad != nil {
		n = 0
	}
	return n, err
}

// readTime reads a time in ns.
func (w *jsonReader) readTime() (schema.Millis, error) {
	n, err := w.readNumber()
	return schema.Millis(boundedInt(n/1e6, 8.64e15)), err
}

// readAnyValue reads a scalar AnyValue as text.
func (w *jsonReader) readAnyValue() (found string, err error) {
	err = w.readObject(func(name string) error {
		switch name {
		case "stringValue", "intValue", "doubleValue", "boolValue":
			text, ok, err := w.readScalar()
			if ok {
				found = truncate(text)
			}
			return err
		default:
			return w.SkipValue()
		}
	})
	return found, err
}

// readAttributes reads a list of attributes. The last of equal names wins.
func (w *jsonReader) readAttributes(into attributes) error {
	return w.readArray(func() error {
		var key, value string
		err := w.readObject(func(name string) (err error) {
			switch name {
			case "key":
				key, _, err = w.readScalar()
			case "value":
				value, err = w.readAnyValue()
			default:
				err = w.SkipValue()
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
func (w *jsonReader) readServiceName() (service string, err error) {
	err = w.readObject(func(name string) error {
		if name != "attributes" {
			return w.SkipValue()
		}
		all := attributes{}
		err := w.readAttributes(all)
		service = all["service.name"]
		return err
	})
	return service, err
}
