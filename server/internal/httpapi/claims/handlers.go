package claims

import (
	"encoding/json"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/auth"
)

// Handlers returns the handlers of the routes of claims, by "METHOD path". identityOf returns the
// caller of a request.
func (c *Claims) Handlers(identityOf func(*fiber.Ctx) auth.Identity) map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathClaims: func(f *fiber.Ctx) error { return f.JSON(c.List()) },
		"POST " + control.PathClaim: func(f *fiber.Ctx) error {
			id, err := eventID(f)
			if err != nil {
				return err
			}
			var d control.ClaimDraft
			if body := f.Body(); len(body) > 0 && json.Unmarshal(body, &d) != nil {
				return &schema.FieldError{Detail: "must be a JSON object; to is the name of a person"}
			}
			if err := c.Claim(f.UserContext(), id, d.To, identityOf(f)); err != nil {
				return err
			}
			return f.JSON(c.List())
		},
		"DELETE " + control.PathClaim: func(f *fiber.Ctx) error {
			id, err := eventID(f)
			if err != nil {
				return err
			}
			if err := c.Release(f.UserContext(), id, identityOf(f)); err != nil {
				return err
			}
			return f.JSON(c.List())
		},
	}
}

func eventID(f *fiber.Ctx) (schema.EventID, error) {
	id, err := strconv.ParseInt(f.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, schema.ErrNotFound
	}
	return schema.EventID(id), nil
}
