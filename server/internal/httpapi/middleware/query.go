package middleware

import (
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

// CheckQuery returns the middleware that rejects query parameters that route r does not have: a
// misspelled filter would otherwise select everything. The redirect of an OpenID provider is exempt,
// because RFC 6749 (section 4.1.2) lets providers add parameters.
func CheckQuery(r routes.Route) fiber.Handler {
	known := make(map[string]bool, len(r.Query))
	for _, p := range r.Query {
		known[p.Name] = true
	}
	return func(c *fiber.Ctx) error {
		if len(c.Context().URI().QueryString()) == 0 || r.Path == schema.PathOIDCCallback || IsPageRequest(c) {
			return c.Next()
		}
		unknown := ""
		for name := range c.Context().QueryArgs().All() {
			if !known[string(name)] {
				unknown = string(name)
				break
			}
		}
		if unknown == "" {
			return c.Next()
		}
		return &schema.FieldError{Field: unknown, Detail: "is not a query parameter of this path"}
	}
}
