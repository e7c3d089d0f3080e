package store

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// MaxClosedAlerts is the number of closed alerts that are kept.
const MaxClosedAlerts = 500

// AlertSettings are the alert rules. Ids are not used again.
type AlertSettings struct {
	Rules  []control.AlertRule `json:"rules"`
	LastID int64               `json:"lastId"`
}

// Alerts stores the findings of alert rules, which are the document AlertRules.
type Alerts interface {
	// OpenAlert stores an alert with the next id. If its rule has an open alert with the same
	// application, session and person, it stores nothing and opened is false.
	OpenAlert(ctx context.Context, a control.Alert) (stored control.Alert, opened bool, err error)

	// CloseAlert closes an alert. A closed one is left unchanged. The newest MaxClosedAlerts
	// closed alerts are kept.
	CloseAlert(ctx context.Context, id int64, at schema.Millis) error

	// Alerts returns all open alerts, or the newest closed ones, at most limit, the newest first.
	Alerts(ctx context.Context, open bool, limit int) ([]control.Alert, error)
}
