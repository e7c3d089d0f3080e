package httpapi

import (
	"encoding/json"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

func (s *Server) ruleHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathRules:        s.rules,
		"POST " + schema.PathRules:       s.createRule,
		"POST " + schema.PathRulePreview: s.previewRule,
		"DELETE " + schema.PathRule:      s.revokeRule,
		"GET " + history.PathAutomatic:   s.automatic,
	}
}

func (s *Server) rules(c *fiber.Ctx) error { return reply(c)(s.Query.Rules(c.UserContext())) }

func (s *Server) createRule(c *fiber.Ctx) error {
	var d schema.RuleDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	return reply(c)(s.Hub.CreateRule(c.UserContext(), &d, caller(c)))
}

func (s *Server) previewRule(c *fiber.Ctx) error {
	var d schema.RuleDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	return reply(c)(s.Hub.PreviewRule(c.UserContext(), &d, caller(c)))
}

func (s *Server) revokeRule(c *fiber.Ctx) error {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return schema.ErrNotFound
	}
	return reply(c)(s.Hub.RevokeRule(c.UserContext(), id, caller(c)))
}

func (s *Server) automatic(c *fiber.Ctx) error {
	limit, err := queryInt(c, "limit", bounds{min: 1, max: history.MaxAutomatic, fallback: 50})
	if err != nil {
		return err
	}
	before, err := queryInt(c, "before", bounds{min: 1, max: unbounded})
	if err != nil {
		return err
	}
	page, err := s.Query.Automatic(c.UserContext(), schema.EventID(before), int(limit))
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(page))
}
