package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

const safetySettings = "safety" // hub_settings.name

func (s *engine) SafetySettings(ctx context.Context) (settings control.SafetySettings, err error) {
	var raw []byte
	err = s.readers.get(ctx, []any{&raw}, `SELECT settings FROM hub_settings WHERE stream_id = 1 AND name = ?`, safetySettings)
	if errors.Is(err, sql.ErrNoRows) {
		return settings, nil
	}
	if err != nil {
		return settings, err
	}
	return settings, json.Unmarshal(raw, &settings)
}

func (s *engine) SetSafetySettings(ctx context.Context, settings control.SafetySettings, by string) error {
	raw, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) error {
		if _, err := t.exec(`INSERT INTO hub_settings (stream_id, name, settings) VALUES (1, ?, ?)
			ON CONFLICT (stream_id, name) DO UPDATE SET settings = excluded.settings`, safetySettings, raw); err != nil {
			return err
		}
		return t.appendLedger(store.LedgerRecord{Action: "safety.changed", Actor: by, Data: settings})
	}})
}

func (s *engine) AutomaticFreezes(ctx context.Context, f store.AutomaticFreezeFilter) ([]control.Freeze, error) {
	rows, err := s.readers.query(ctx, freezeColumns+` AND rule <> '' AND (?1 = '' OR rule = ?1) AND (?2 = '' OR app = ?2 AND (?3 = '' OR session = ?3))
		ORDER BY id DESC LIMIT ?4`, string(f.Rule), f.App, f.Session, f.Limit)
	return collect(rows, err, func(rows *sql.Rows, f *control.Freeze) error { return rows.Scan(freezeFields(f)...) })
}
