package httpapi

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

func (s *Server) freezeHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathFreezes:   s.freezes,
		"POST " + control.PathFreezes:  s.freeze,
		"DELETE " + control.PathFreeze: s.unfreeze,
	}
}

func (s *Server) freezes(c *fiber.Ctx) error { return replyJSON(c)(s.Hub.Freezes(c.UserContext())) }

func (s *Server) freeze(c *fiber.Ctx) error {
	var d control.FreezeDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	f, _, err := s.Hub.Freeze(c.UserContext(), &d, caller(c))
	if err == nil {
		c.Status(fiber.StatusCreated)
	}
	return replyJSON(c)(f, err)
}

func (s *Server) unfreeze(c *fiber.Ctx) error {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return schema.ErrNotFound
	}
	return replyJSON(c)(s.Hub.Unfreeze(c.UserContext(), id, caller(c)))
}
