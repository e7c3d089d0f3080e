package httpapi

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

func (s *Server) alertHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathAlerts:       s.alerts,
		"GET " + control.PathAlertRules:   s.alertRules,
		"POST " + control.PathAlertRules:  s.createAlertRule,
		"PUT " + control.PathAlertRule:    s.replaceAlertRule,
		"DELETE " + control.PathAlertRule: s.removeAlertRule,
		"GET " + control.PathCoverage:     s.listCoverage,
		"POST " + control.PathCoverage:    s.reportCoverage,
	}
}

func (s *Server) alerts(c *fiber.Ctx) error { return replyJSON(c)(s.Alerts.Read(c.UserContext())) }

func (s *Server) alertRules(c *fiber.Ctx) error {
	return replyJSON(c)(control.AlertRuleList{Rules: s.Alerts.Rules.List()}, nil)
}

func (s *Server) createAlertRule(c *fiber.Ctx) error {
	var rule control.AlertRule
	if err := unmarshal(c.Body(), &rule); err != nil {
		return err
	}
	if err := s.Alerts.Rules.Create(c.UserContext(), rule, identityOf(c).Name); err != nil {
		return err
	}
	return s.alertRules(c)
}

func (s *Server) replaceAlertRule(c *fiber.Ctx) error {
	id, err := alertRuleID(c)
	if err != nil {
		return err
	}
	var rule control.AlertRule
	if err := unmarshal(c.Body(), &rule); err != nil {
		return err
	}
	if err := s.Alerts.Rules.Replace(c.UserContext(), id, rule, identityOf(c).Name); err != nil {
		return err
	}
	return s.alertRules(c)
}

func (s *Server) removeAlertRule(c *fiber.Ctx) error {
	id, err := alertRuleID(c)
	if err != nil {
		return err
	}
	if err := s.Alerts.Rules.Remove(c.UserContext(), id, identityOf(c).Name); err != nil {
		return err
	}
	return s.alertRules(c)
}

func alertRuleID(c *fiber.Ctx) (int64, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, schema.ErrNotFound
	}
	return id, nil
}

func (s *Server) listCoverage(c *fiber.Ctx) error {
	return replyJSON(c)(s.Coverage.List(c.UserContext()))
}

func (s *Server) reportCoverage(c *fiber.Ctx) error {
	var report control.MachineReport
	if err := unmarshal(c.Body(), &report); err != nil {
		return err
	}
	return replyJSON(c)(s.Coverage.Report(c.UserContext(), identityOf(c).Requester(), report))
}
