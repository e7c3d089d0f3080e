// Package defaultsapi is the HTTP interface of the defaults of questions.
package defaultsapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/requestdefaults"
)

// Handlers returns the handlers of the routes, by "METHOD path". identityOf returns the caller of a
// request.
func Handlers(s *requestdefaults.Settings, identityOf func(*fiber.Ctx) auth.Identity) map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathRequestDefaults: func(c *fiber.Ctx) error { return c.JSON(s.Read()) },
		"PUT " + control.PathRequestDefaults: func(c *fiber.Ctx) error {
			wanted, err := decode(c.Body())
			if err == nil {
				err = s.Set(c.UserContext(), wanted, identityOf(c).Name)
			}
			if err != nil {
				return err
			}
			return c.JSON(s.Read())
		},
	}
}

// decode rejects unknown members: a setting that is misspelled must not look saved.
func decode(body []byte) (wanted control.RequestDefaults, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(&wanted)
	var field *schema.FieldError
	switch {
	case errors.As(err, &field):
		return wanted, field
	case err != nil:
		return wanted, &schema.FieldError{Detail: "must be a JSON object with the member defaults, a list of objects: " + err.Error()}
	case wanted.Defaults == nil:
		return wanted, &schema.FieldError{Field: "defaults", Detail: "is required; an empty list removes all"}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wanted, &schema.FieldError{Detail: "must be one JSON object"}
	}
	return wanted, nil
}
