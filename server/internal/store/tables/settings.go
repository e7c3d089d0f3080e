package tables

import (
	"context"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// settings reads the settings of the hub with this name; zero if there are none.
func settings[S any](ctx context.Context, t *Tables, name string) (s S, err error) {
	_, err = t.ReadOne(ctx, []any{kit.JSONBytes(&s)}, `SELECT settings FROM hub_settings WHERE name = $1`, name)
	return s, err
}

// setSettings replaces the settings with this name. The audit log gets the entry NAME.changed.
func (t *Tables) setSettings(ctx context.Context, name string, settings any, by string) error {
	return t.Write(ctx, Essential|Policy, func(w *Work) error {
		if err := w.Exec(`INSERT INTO hub_settings (name, settings) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET settings = excluded.settings`, name, kit.JSONBytes(settings)); err != nil {
			return err
		}
		return w.AppendLedger(store.LedgerRecord{Action: name + ".changed", Actor: by, Data: settings})
	})
}

func (t *Tables) ReachSettings(ctx context.Context) (control.ReachSettings, error) {
	return settings[control.ReachSettings](ctx, t, "reach")
}

func (t *Tables) SetReachSettings(ctx context.Context, s control.ReachSettings, by string) error {
	return t.setSettings(ctx, "reach", s, by)
}

func (t *Tables) SafetySettings(ctx context.Context) (control.SafetySettings, error) {
	return settings[control.SafetySettings](ctx, t, "safety")
}

func (t *Tables) SetSafetySettings(ctx context.Context, s control.SafetySettings, by string) error {
	return t.setSettings(ctx, "safety", s, by)
}

func (t *Tables) RequestDefaults(ctx context.Context) (control.RequestDefaults, error) {
	return settings[control.RequestDefaults](ctx, t, "requests")
}

func (t *Tables) SetRequestDefaults(ctx context.Context, s control.RequestDefaults, by string) error {
	return t.setSettings(ctx, "requests", s, by)
}

func (t *Tables) AlertSettings(ctx context.Context) (store.AlertSettings, error) {
	return settings[store.AlertSettings](ctx, t, "alerts")
}

func (t *Tables) SetAlertSettings(ctx context.Context, s store.AlertSettings, by string) error {
	return t.setSettings(ctx, "alerts", s, by)
}
