package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hookback/hookback/schema"
)

// maxTopLevelTokens limits the names and values at the top level of a body that is decoded
// into a struct, because each costs a map entry while decoding. A version 1 client sends a
// few dozen.
const maxTopLevelTokens = 4 * schema.MaxExtra

// unmarshal decodes a JSON body into v. It returns a *schema.FieldError for invalid input.
// It checks the body's shape first without allocating, so that a hostile body costs no
// memory.
func unmarshal(body []byte, v any) error {
	body, _ = schema.ReplaceHalfSurrogates(body)
	if err := checkShape(body); err != nil {
		return err
	}
	err := json.Unmarshal(body, v)
	var field *schema.FieldError
	var mistyped *json.UnmarshalTypeError
	switch {
	case err == nil, errors.As(err, &field):
		return err
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return &schema.FieldError{Field: mistyped.Field, Detail: "must be a " + mistyped.Type.String()}
	case errors.As(err, &mistyped):
		return &schema.FieldError{Detail: "must be a JSON object"}
	default:
		return &schema.FieldError{Detail: "is not valid JSON"}
	}
}

func checkShape(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	for top := 0; ; {
		_, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil // json.Unmarshal rejects an empty body and a second value
		case err != nil:
			return &schema.FieldError{Detail: "is not valid JSON in UTF-8"}
		case dec.StackDepth() > schema.MaxDepth:
			return &schema.FieldError{Detail: "is nested too deeply"}
		case dec.StackDepth() == 1:
			if top++; top > maxTopLevelTokens {
				return &schema.FieldError{Detail: "has too many members"}
			}
		}
	}
}
