package httpapi

import (
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema/control"
)

func (s *Server) claimHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathClaims:   s.listClaims,
		"POST " + control.PathClaim:   s.claim,
		"DELETE " + control.PathClaim: s.release,
	}
}

func (s *Server) listClaims(c *fiber.Ctx) error { return replyJSON(c)(s.claims.List(), nil) }

func (s *Server) claim(c *fiber.Ctx) error {
	var d control.ClaimDraft
	id, err := decode(c, &d)
	if err == nil {
		err = s.claims.Claim(c.UserContext(), id, d.To, identityOf(c))
	}
	if err != nil {
		return err
	}
	return s.listClaims(c)
}

func (s *Server) release(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err == nil {
		err = s.claims.Release(c.UserContext(), id, identityOf(c))
	}
	if err != nil {
		return err
	}
	return s.listClaims(c)
}
