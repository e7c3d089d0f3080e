package middleware

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

// CheckQuery returns the middleware that rejects query parameters that route r does not have, because a
// misspelled filter would otherwise select everything, and integers outside their range. The redirect of an
// OpenID provider is exempt, because RFC 6749 (section 4.1.2) lets providers add parameters.
func CheckQuery(r *routes.Route) fiber.Handler {
	known := make(map[string]bool, len(r.Query))
	for _, p := range r.Query {
		known[p.Name] = true
	}
	return func(c *fiber.Ctx) error {
		if len(c.Context().URI().QueryString()) == 0 || r.Path == schema.PathOIDCCallback || IsPageRequest(c) {
			return c.Next()
		}
		for name := range c.Context().QueryArgs().All() {
			if !known[string(name)] {
				return &schema.FieldError{Field: string(name), Detail: "is not a query parameter of this path"}
			}
		}
		for _, p := range r.Query {
			if bounds, ok := r.RangeOf(p.Name); ok {
				if _, err := number(c, p.Name, bounds); err != nil {
					return err
				}
			}
		}
		return c.Next()
	}
}

// Number returns an integer query parameter of a request that passed CheckQuery.
func Number(c *fiber.Ctx, r *routes.Route, name string) int64 {
	bounds, _ := r.RangeOf(name)
	n, _ := number(c, name, bounds)
	return n
}

func number(c *fiber.Ctx, name string, bounds routes.Range) (int64, error) {
	text := c.Query(name)
	if text == "" {
		return bounds.Default, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < bounds.Min || n > bounds.Max {
		detail := "must be a whole number from " + strconv.FormatInt(bounds.Min, 10)
		if bounds.Max < routes.Unbounded {
			detail += " to " + strconv.FormatInt(bounds.Max, 10)
		}
		return 0, &schema.FieldError{Field: name, Detail: detail}
	}
	return n, nil
}
