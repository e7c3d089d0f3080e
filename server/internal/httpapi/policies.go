package httpapi

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

func (s *Server) policyHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + history.PathPolicies:  s.policies,
		"POST " + history.PathReplay:   s.replayPolicy,
		"GET " + schema.PathPolicyLine: s.policyLine,
		"GET " + schema.PathRiskyCalls: s.riskyCalls,
	}
}

func (s *Server) policies(c *fiber.Ctx) error {
	return replyJSON(c)(s.Studio.Policies(c.UserContext()))
}

// replayPolicy compares the policy or the rule of a draft with the history.
func (s *Server) replayPolicy(c *fiber.Ctx) error {
	var d history.ReplayDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	switch {
	case (d.Rule == nil) == (d.Policy == ""):
		return &schema.FieldError{Field: "policy", Detail: "or rule must be set, and not both"}
	case d.Rule == nil:
		return replyJSON(c)(s.Studio.Replay(c.UserContext(), &d))
	}
	release, err := s.Studio.Acquire(c.UserContext())
	if err != nil {
		return err
	}
	defer release()
	return replyJSON(c)(s.Hub.ReplayRule(c.UserContext(), d.Rule))
}

func (s *Server) riskyCalls(c *fiber.Ctx) error {
	key := sessionKey(c)
	if key.App == "" && key.Session != "" {
		return &schema.FieldError{Field: "session_id", Detail: "needs source_app"}
	}
	limit, err := queryInt(c, "limit", bounds{min: 1, max: history.MaxRiskyCalls, fallback: schema.RecentLimit})
	if err != nil {
		return err
	}
	before, err := queryInt(c, "before", bounds{min: 1, max: unbounded})
	if err != nil {
		return err
	}
	after, err := queryInt(c, "after", bounds{max: unbounded})
	if err != nil {
		return err
	}
	calls, err := s.Ratings.Store.RiskyCalls(c.UserContext(), store.RiskyCallFilter{
		App: key.App, Session: key.Session, Limit: int(limit), Before: schema.EventID(before), After: schema.EventID(after),
	})
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(history.RiskyCalls{Calls: append([]history.RiskyCall{}, calls...)}))
}

func (s *Server) policyLine(c *fiber.Ctx) error {
	id, err := queryInt(c, "event", bounds{min: 1, max: unbounded})
	if err != nil {
		return err
	}
	if id == 0 {
		return &schema.FieldError{Field: "event", Detail: "is missing"}
	}
	line, err := s.Ratings.PolicyLine(c.UserContext(), schema.EventID(id), s.Query.Clock())
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(line))
}
