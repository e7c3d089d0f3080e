package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

func (s *Server) requestDefaultHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathRequestDefaults: s.requestDefaults,
		"PUT " + control.PathRequestDefaults: s.setRequestDefaults,
	}
}

func (s *Server) requestDefaults(c *fiber.Ctx) error { return replyJSON(c)(s.Defaults.Read(), nil) }

func (s *Server) setRequestDefaults(c *fiber.Ctx) error {
	defaults, err := decodeRequestDefaults(c.Body())
	if err != nil {
		return err
	}
	if err := s.Defaults.Set(c.UserContext(), defaults, identityOf(c).Name); err != nil {
		return err
	}
	return s.requestDefaults(c)
}

// decodeRequestDefaults rejects unknown members: a setting that is misspelled must not look saved.
func decodeRequestDefaults(body []byte) (defaults control.RequestDefaults, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(&defaults)
	var field *schema.FieldError
	switch {
	case errors.As(err, &field):
		return defaults, field
	case err != nil:
		return defaults, &schema.FieldError{Detail: "must be a JSON object with the member defaults, a list of objects: " + err.Error()}
	case defaults.Defaults == nil:
		return defaults, &schema.FieldError{Field: "defaults", Detail: "is required; an empty list removes all"}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return defaults, &schema.FieldError{Detail: "must be one JSON object"}
	}
	return defaults, nil
}
