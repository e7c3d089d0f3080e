package otlp

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
)

// walk is one pass over a body.
type walk struct {
	*jsontext.Decoder
	records int
}

// start reads a body, which must be one object, with fn.
func start(body []byte, fn func(w *walk, name string) error) error {
	w := &walk{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if w.PeekKind() != '{' {
		return ErrMalformed
	}
	if err := w.object(func(name string) error { return fn(w, name) }); err != nil {
		return ErrMalformed
	}
	if _, err := w.ReadToken(); !errors.Is(err, io.EOF) {
		return ErrMalformed
	}
	return nil
}

// object calls fn with the name of each member; fn reads its value. Anything but an
// object is stepped over.
func (w *walk) object(fn func(name string) error) error {
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

// array calls fn for each element, which reads it.
func (w *walk) array(fn func() error) error {
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

// record counts a log record or data point.
func (w *walk) record() error {
	if w.records++; w.records > MaxRecords {
		return ErrMalformed
	}
	return nil
}

// scalar reads a string, number or boolean as text; ok is false for anything else.
func (w *walk) scalar() (text string, ok bool, err error) {
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

// number reads a number, which 64-bit ones are written as a string; 0 for none.
func (w *walk) number() (float64, error) {
	text, _, err := w.scalar()
	n, bad := strconv.ParseFloat(text, 64)
	if bad != nil {
		n = 0
	}
	return n, err
}

// nanos reads a time in ns and makes it ms.
func (w *walk) nanos() (schema.Millis, error) {
	n, err := w.number()
	return schema.Millis(whole(n/1e6, 8.64e15)), err
}

// value reads an AnyValue that is a scalar.
func (w *walk) value() (found string, err error) {
	err = w.object(func(name string) error {
		switch name {
		case "stringValue", "intValue", "doubleValue", "boolValue":
			text, ok, err := w.scalar()
			if ok {
				found = cut(text)
			}
			return err
		default:
			return w.SkipValue()
		}
	})
	return found, err
}

// attributes reads a list of them, the last one of a name.
func (w *walk) attributes(into attributes) error {
	return w.array(func() error {
		var key, value string
		err := w.object(func(name string) (err error) {
			switch name {
			case "key":
				key, _, err = w.scalar()
			case "value":
				value, err = w.value()
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

// attributes are those of a record, as texts.
type attributes map[string]string

func (a attributes) number(key string) float64 {
	n, err := strconv.ParseFloat(a[key], 64)
	if err != nil {
		return 0
	}
	return n
}

func (a attributes) tokens(key string) int64 { return whole(a.number(key), maxTokens) }

// service reads a Resource's service.name.
func (w *walk) service() (service string, err error) {
	err = w.object(func(name string) error {
		if name != "attributes" {
			return w.SkipValue()
		}
		all := attributes{}
		err := w.attributes(all)
		service = all["service.name"]
		return err
	})
	return service, err
}
