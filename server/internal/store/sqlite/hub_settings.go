package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

// hubSettings reads the settings with this name into out, and leaves out as it is if there are none.
func (s *engine) hubSettings(ctx context.Context, name string, out any) error {
	var raw []byte
	err := s.readers.get(ctx, []any{&raw}, `SELECT settings FROM hub_settings WHERE name = ?`, name)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	default:
		return json.Unmarshal(raw, out)
	}
}

// setHubSettings replaces the settings with this name. The audit log gets the entry NAME.changed.
func (s *engine) setHubSettings(ctx context.Context, name string, settings any, by string) error {
	raw, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		if _, err := t.exec(`INSERT INTO hub_settings (name, settings) VALUES (?, ?)
			ON CONFLICT (name) DO UPDATE SET settings = excluded.settings`, name, raw); err != nil {
			return err
		}
		return t.appendLedger(store.LedgerRecord{Action: name + ".changed", Actor: by, Data: settings})
	}})
}

func (s *engine) ReachSettings(ctx context.Context) (settings control.ReachSettings, err error) {
	err = s.hubSettings(ctx, "reach", &settings)
	return settings, err
}

func (s *engine) SetReachSettings(ctx context.Context, settings control.ReachSettings, by string) error {
	return s.setHubSettings(ctx, "reach", settings, by)
}
