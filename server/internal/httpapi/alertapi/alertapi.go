// Package alertapi is the HTTP interface of alerts and their rules.
package alertapi

import (
	"encoding/json"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/alerts"
	"github.com/hookback/hookback/server/internal/auth"
)

// Handlers returns the handlers of the routes of alerts, by "METHOD path". identityOf returns the
// caller of a request.
func Handlers(f *alerts.Follower, identityOf func(*fiber.Ctx) auth.Identity) map[string]fiber.Handler {
	list := func(c *fiber.Ctx, err error) error {
		if err != nil {
			return err
		}
		return c.JSON(control.AlertRuleList{Rules: f.Rules.List()})
	}
	return map[string]fiber.Handler{
		"GET " + control.PathAlerts: func(c *fiber.Ctx) error {
			all, err := f.Read(c.UserContext())
			if err != nil {
				return err
			}
			return c.JSON(all)
		},
		"GET " + control.PathAlertRules: func(c *fiber.Ctx) error { return list(c, nil) },
		"POST " + control.PathAlertRules: func(c *fiber.Ctx) error {
			rule, err := ruleOf(c)
			if err == nil {
				err = f.Rules.Create(c.UserContext(), rule, identityOf(c).Name)
			}
			return list(c, err)
		},
		"PUT " + control.PathAlertRule: func(c *fiber.Ctx) error {
			id, err := ruleID(c)
			if err != nil {
				return err
			}
			rule, err := ruleOf(c)
			if err == nil {
				err = f.Rules.Replace(c.UserContext(), id, rule, identityOf(c).Name)
			}
			return list(c, err)
		},
		"DELETE " + control.PathAlertRule: func(c *fiber.Ctx) error {
			id, err := ruleID(c)
			if err == nil {
				err = f.Rules.Remove(c.UserContext(), id, identityOf(c).Name)
			}
			return list(c, err)
		},
	}
}

func ruleOf(c *fiber.Ctx) (rule control.AlertRule, err error) {
	if json.Unmarshal(c.Body(), &rule) != nil {
		err = &schema.FieldError{Detail: "must be a JSON object: an alert rule"}
	}
	return rule, err
}

func ruleID(c *fiber.Ctx) (int64, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, schema.ErrNotFound
	}
	return id, nil
}
