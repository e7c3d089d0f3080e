package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// settingHandlers returns the handlers of the routes of freezes, alerts, coverage and the hub's settings.
func (s *Server) settingHandlers() map[string]handler {
	return map[string]handler{
		"GET " + control.PathFreezes: get(s.Hub.Freezes),
		"POST " + control.PathFreezes: handle(func(r *request, d control.FreezeDraft) (control.Freeze, error) {
			f, _, err := s.Hub.Freeze(r, &d, r.by)
			return f, err
		}),
		"DELETE " + control.PathFreeze: byID(func(r *request, id schema.EventID, _ none) (control.Freeze, error) {
			return s.Hub.Unfreeze(r, int64(id), r.by)
		}),
		"GET " + control.PathSafety:          get(s.Safety.Read),
		"PUT " + control.PathSafety:          handle(s.setSafety),
		"GET " + control.PathRequestDefaults: handle(func(*request, none) (control.RequestDefaults, error) { return s.Defaults.Read(), nil }),
		"PUT " + control.PathRequestDefaults: handle(s.setRequestDefaults),
		"GET " + control.PathReach:           handle(func(*request, none) (control.Reach, error) { return s.Reach.Read(), nil }),
		"PUT " + control.PathReach: handle(func(r *request, settings control.ReachSettings) (control.Reach, error) {
			err := s.Reach.Set(r, settings, r.person())
			return s.Reach.Read(), err
		}),
		"POST " + control.PathReachCheck: handle(func(r *request, _ none) (control.Reach, error) {
			s.Reach.Check(r)
			return s.Reach.Read(), nil
		}),

		"GET " + control.PathAlerts:     handle(func(r *request, _ none) (control.AlertList, error) { return s.Alerts.Read(r) }),
		"GET " + control.PathAlertRules: handle(func(*request, none) (control.AlertRuleList, error) { return s.alertRules(nil) }),
		"POST " + control.PathAlertRules: handle(func(r *request, rule control.AlertRule) (control.AlertRuleList, error) {
			return s.alertRules(s.Alerts.Rules.Create(r, rule, r.person()))
		}),
		"PUT " + control.PathAlertRule: byID(func(r *request, id schema.EventID, body json.RawMessage) (control.AlertRuleList, error) {
			rule, err := decode[control.AlertRule](body, false)
			if err == nil {
				err = s.Alerts.Rules.Replace(r, int64(id), rule, r.person())
			}
			return s.alertRules(err)
		}),
		"DELETE " + control.PathAlertRule: byID(func(r *request, id schema.EventID, _ none) (control.AlertRuleList, error) {
			return s.alertRules(s.Alerts.Rules.Remove(r, int64(id), r.person()))
		}),
		"GET " + control.PathCoverage: handle(func(r *request, _ none) (control.CoverageList, error) { return s.Coverage.List(r) }),
	}
}

func (s *Server) setSafety(r *request, settings control.SafetySettings) (control.Safety, error) {
	if err := s.Safety.Set(r, settings, r.person()); err != nil {
		return control.Safety{}, err
	}
	return s.Safety.Read(r)
}

// alertRules returns the rules after a change, or its error.
func (s *Server) alertRules(err error) (control.AlertRuleList, error) {
	return control.AlertRuleList{Rules: s.Alerts.Rules.List()}, err
}

func (s *Server) setRequestDefaults(r *request, body json.RawMessage) (control.RequestDefaults, error) {
	defaults, err := decodeRequestDefaults(body)
	if err == nil {
		err = s.Defaults.Set(r, defaults, r.person())
	}
	return s.Defaults.Read(), err
}

// decodeRequestDefaults rejects unknown members: a setting that is misspelled must not look saved.
func decodeRequestDefaults(body []byte) (defaults control.RequestDefaults, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(&defaults)
	var field *schema.FieldError
	switch {
	case errors.As(err, &field):
		return defaults, field
	case err != nil:
		return defaults, &schema.FieldError{Detail: "must be a JSON object with the member defaults, a list of objects: " + err.Error()}
	case defaults.Defaults == nil:
		return defaults, &schema.FieldError{Field: "defaults", Detail: "is required; an empty list removes all"}
	}
	return defaults, nil
}
