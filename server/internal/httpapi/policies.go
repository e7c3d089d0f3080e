package httpapi

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

func (s *Server) policyHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathPolicyLine: s.policyLine,
		"GET " + history.PathPolicies:  s.policies,
		"POST " + history.PathReplay:   s.replayPolicy,
		"GET " + history.PathAutomatic: s.automatic,
		"GET " + schema.PathRiskyCalls: s.riskyCalls,
	}
}

func (s *Server) policies(c *fiber.Ctx) error {
	list, err := s.Studio.Policies(c.UserContext())
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(list))
}

func (s *Server) replayPolicy(c *fiber.Ctx) error {
	var d history.ReplayDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	var result *history.Replay
	var err error
	switch {
	case (d.Rule == nil) == (d.Policy == ""):
		err = &schema.FieldError{Field: "policy", Detail: "or rule must be set, and not both"}
	case d.Rule == nil:
		result, err = s.Studio.Replay(c.UserContext(), &d)
	default:
		var release func()
		if release, err = s.Studio.Acquire(c.UserContext()); err != nil {
			return err
		}
		defer release()
		result, err = s.Hub.ReplayRule(c.UserContext(), d.Rule)
	}
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(result))
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
