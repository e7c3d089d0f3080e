package sqlite

import (
	"context"
	"database/sql"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

const alertColumns = `SELECT id, rule, kind, app, session, person, evidence, opened_at, closed_at FROM alerts`

func alertFields(a *control.Alert) []any {
	return []any{&a.ID, &a.Rule, &a.Kind, &a.SourceApp, &a.SessionID, &a.Person, &a.Evidence, &a.OpenedAt, &a.ClosedAt}
}

func (s *engine) AlertSettings(ctx context.Context) (settings store.AlertSettings, err error) {
	err = s.hubSettings(ctx, "alerts", &settings)
	return settings, err
}

func (s *engine) SetAlertSettings(ctx context.Context, settings store.AlertSettings, by string) error {
	return s.setHubSettings(ctx, "alerts", settings, by)
}

func (s *engine) OpenAlert(ctx context.Context, a control.Alert) (stored control.Alert, opened bool, err error) {
	err = s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		stored, opened = a, false
		if err := t.get([]any{&stored.ID}, `SELECT coalesce(max(id), 0) + 1 FROM alerts`); err != nil {
			return err
		}
		n, err := t.exec(`INSERT INTO alerts (id, rule, kind, app, session, person, evidence, opened_at, closed_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
			stored.ID, a.Rule, string(a.Kind), a.SourceApp, a.SessionID, a.Person, a.Evidence, int64(a.OpenedAt))
		opened = n > 0
		return err
	}})
	return stored, opened, err
}

func (s *engine) CloseAlert(ctx context.Context, id int64, at schema.Millis) error {
	return s.writer.do(ctx, &op{needsSavepoint: true, run: func(t *tx) error {
		if _, err := t.exec(`UPDATE alerts SET closed_at = ? WHERE id = ? AND closed_at = 0`, int64(at), id); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM alerts WHERE closed_at > 0 AND id <= (SELECT id FROM alerts
			WHERE closed_at > 0 ORDER BY id DESC LIMIT 1 OFFSET ?)`, store.MaxClosedAlerts)
		return err
	}})
}

func (s *engine) Alerts(ctx context.Context, open bool, limit int) ([]control.Alert, error) {
	rows, err := s.readers.query(ctx, alertColumns+` WHERE (closed_at = 0) = ? ORDER BY id DESC LIMIT ?`, open, limit)
	return collect(rows, err, func(rows *sql.Rows, a *control.Alert) error { return rows.Scan(alertFields(a)...) })
}
