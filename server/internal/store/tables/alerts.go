package tables

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

var alerts = newTable("alerts", "id", "id, rule, kind, app, session, person, evidence, opened_at, closed_at", func(a *control.Alert) []any {
	return []any{&a.ID, &a.Rule, &a.Kind, &a.SourceApp, &a.SessionID, &a.Person, &a.Evidence, &a.OpenedAt, &a.ClosedAt}
})

func (t *Tables) OpenAlert(ctx context.Context, a control.Alert) (stored control.Alert, opened bool, err error) {
	err = t.change(ctx, Policy, func(w *Work) {
		stored = a
		stored.ID = nextID(w, "alerts")
		opened = w.count(alerts.inserts+` ON CONFLICT DO NOTHING`, alerts.values(&stored)...) > 0
	})
	return stored, opened, err
}

func (t *Tables) CloseAlert(ctx context.Context, id int64, at schema.Millis) error {
	return t.change(ctx, Policy, func(w *Work) {
		w.do(`UPDATE alerts SET closed_at = $1 WHERE id = $2 AND closed_at = 0`, int64(at), id)
		w.do(`DELETE FROM alerts WHERE closed_at > 0 AND id <= (SELECT id FROM alerts
			WHERE closed_at > 0 ORDER BY id DESC LIMIT 1 OFFSET $1)`, store.MaxClosedAlerts)
	})
}

func (t *Tables) Alerts(ctx context.Context, open bool, limit int) ([]control.Alert, error) {
	return alerts.list(ctx, t, `WHERE (closed_at = 0) = $1 ORDER BY id DESC LIMIT $2`, open, limit)
}
