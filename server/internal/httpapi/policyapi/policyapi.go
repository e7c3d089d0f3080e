// Package policyapi is the HTTP interface of the policies in force and of replays.
package policyapi

import (
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/studio"
)

// Handlers returns the handlers of the routes of policies, by "METHOD path". decode decodes a body.
func Handlers(s *studio.Service, h *hub.Hub, decode func(body []byte, v any) error) map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + history.PathPolicies: func(c *fiber.Ctx) error {
			list, err := s.Policies(c.UserContext())
			if err != nil {
				return err
			}
			return c.JSON(list)
		},
		"POST " + history.PathReplay: func(c *fiber.Ctx) error {
			var d history.ReplayDraft
			if err := decode(c.Request().Body(), &d); err != nil {
				return err
			}
			result, err := replay(c, s, h, &d)
			if err != nil {
				return err
			}
			return c.JSON(result)
		},
	}
}

// replay compares the policy or the rule of a draft with the history.
func replay(c *fiber.Ctx, s *studio.Service, h *hub.Hub, d *history.ReplayDraft) (*history.Replay, error) {
	switch {
	case (d.Rule == nil) == (d.Policy == ""):
		return nil, &schema.FieldError{Field: "policy", Detail: "or rule must be set, and not both"}
	case d.Rule == nil:
		return s.Replay(c.UserContext(), d)
	}
	release, err := s.Acquire(c.UserContext())
	if err != nil {
		return nil, err
	}
	defer release()
	return h.ReplayRule(c.UserContext(), d.Rule)
}
