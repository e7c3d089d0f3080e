package control

import (
	"fmt"
	"math"

	"github.com/hookback/hookback/schema"
)

// The paths of alerts.
const (
	PathAlerts     = "/api/alerts"
	PathAlertRules = "/api/alert-rules"
	PathAlertRule  = "/api/alert-rules/:id"
)

// Limits of alert rules.
const (
	MaxAlertRules   = 50
	MaxAlertMinutes = 30 * 24 * 60
	MaxAlertCalls   = 200
)

// AlertKind is the subject of an alert rule.
type AlertKind string

// The kinds of alert rules.
const (
	AlertStuck  AlertKind = "stuck"  // an agent in the middle of a turn reports nothing and waits for no person
	AlertErrors AlertKind = "errors" // many of the last tool calls of a session failed
	AlertLoop   AlertKind = "loop"   // an agent of a session repeats the same call, or the same failure
	AlertSpend  AlertKind = "spend"  // the cost within a window
)

// The values of AlertRule.Per.
const (
	PerAll    = "all"
	PerApp    = "app"
	PerPerson = "person"
)

// AlertRule is a condition that the hub watches. It informs people and stops nothing. Members that its
// kind does not have are 0 or empty.
type AlertRule struct {
	ID   int64     `json:"id"` // 0 in a request
	Kind AlertKind `json:"kind" jsonschema:"enum=stuck,enum=errors,enum=loop,enum=spend"`
	// SourceApp limits the rule to one application.
	SourceApp string `json:"source_app,omitempty"`
	// Minutes without an event (stuck, default 15), or the window (spend, default 1440).
	Minutes int `json:"minutes,omitempty"`
	// Percent of the last Calls that failed (errors), default 50 of 20.
	Percent int `json:"percent,omitempty"`
	// Calls is the number of last calls (errors), or of equal calls in a row (loop, default 8).
	Calls int `json:"calls,omitempty"`
	// Failures is the number of equal failures in a row (loop), default 5.
	Failures int `json:"failures,omitempty"`
	// USD is the cost within the window (spend) of everything, of each application, or of each person.
	USD float64 `json:"usd,omitempty"`
	Per string  `json:"per,omitempty"` // default all
}

// Normalize fills in the defaults of the kind and checks the members. Its errors are
// *schema.FieldError.
func (r *AlertRule) Normalize() error {
	var unused []string // members that are set and that the kind does not have
	foreign := func(name string, set bool) {
		if set {
			unused = append(unused, name)
		}
	}
	number := func(n *int, name string, used bool, fallback, low, high int) error {
		if !used {
			foreign(name, *n != 0)
			return nil
		}
		if *n == 0 {
			*n = fallback
		}
		if *n < low || *n > high {
			return &schema.FieldError{Field: name, Detail: fmt.Sprintf("must be from %d to %d", low, high)}
		}
		return nil
	}
	stuck, failing, loop, spend := r.Kind == AlertStuck, r.Kind == AlertErrors, r.Kind == AlertLoop, r.Kind == AlertSpend
	if !stuck && !failing && !loop && !spend {
		return &schema.FieldError{Field: "kind", Detail: "must be stuck, errors, loop or spend"}
	}
	minutes := map[bool]int{true: 24 * 60, false: 15}[spend]
	calls := map[bool]int{true: 20, false: 8}[failing]
	for _, err := range []error{
		number(&r.Minutes, "minutes", stuck || spend, minutes, map[bool]int{true: 15, false: 1}[spend], MaxAlertMinutes),
		number(&r.Percent, "percent", failing, 50, 1, 100),
		number(&r.Calls, "calls", failing || loop, calls, 2, MaxAlertCalls),
		number(&r.Failures, "failures", loop, 5, 2, MaxAlertCalls),
	} {
		if err != nil {
			return err
		}
	}
	if spend {
		if r.Per == "" {
			r.Per = PerAll
		}
		if math.IsNaN(r.USD) || r.USD < MinSpendUSD || r.USD > MaxSpendUSD {
			return &schema.FieldError{Field: "usd", Detail: fmt.Sprintf("must be from %.2f to %d", MinSpendUSD, MaxSpendUSD)}
		}
		if r.Per != PerAll && r.Per != PerApp && r.Per != PerPerson {
			return &schema.FieldError{Field: "per", Detail: "must be all, app or person"}
		}
	} else {
		foreign("usd", r.USD != 0)
		foreign("per", r.Per != "")
	}
	if len(unused) > 0 {
		return &schema.FieldError{Field: unused[0], Detail: fmt.Sprintf("is no member of a rule of kind %s", r.Kind)}
	}
	if len(r.SourceApp) > schema.MaxName {
		return &schema.FieldError{Field: "source_app", Detail: fmt.Sprintf("must be at most %d bytes", schema.MaxName)}
	}
	return nil
}

// AlertRuleList is the response of the routes of alert rules: all rules, by id.
type AlertRuleList struct {
	Rules []AlertRule `json:"rules"`
}

// Alert is one finding of an alert rule. It is open until the condition ends; a rule has at most one
// open alert per session, application or person.
type Alert struct {
	ID        int64         `json:"id"`
	Rule      int64         `json:"rule"` // id of the rule
	Kind      AlertKind     `json:"kind"`
	SourceApp string        `json:"source_app,omitempty"`
	SessionID string        `json:"session_id,omitempty"`
	Person    string        `json:"person,omitempty"`
	Evidence  string        `json:"evidence"` // a sentence of the hub, such as "12 of the last 20 calls failed."
	OpenedAt  schema.Millis `json:"opened_at"`
	ClosedAt  schema.Millis `json:"closed_at,omitempty"`
}

// AlertList is the response of GET /api/alerts: the open alerts and the newest closed ones, the newest
// first.
type AlertList struct {
	Open   []Alert `json:"open"`
	Closed []Alert `json:"closed"`
}
