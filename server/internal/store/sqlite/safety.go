package sqlite

import (
	"context"
	"database/sql"

	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/store"
)

func (s *engine) SafetySettings(ctx context.Context) (settings control.SafetySettings, err error) {
	err = s.hubSettings(ctx, "safety", &settings)
	return settings, err
}

func (s *engine) SetSafetySettings(ctx context.Context, settings control.SafetySettings, by string) error {
	return s.setHubSettings(ctx, "safety", settings, by)
}

func (s *engine) RequestDefaults(ctx context.Context) (settings control.RequestDefaults, err error) {
	err = s.hubSettings(ctx, "requests", &settings)
	return settings, err
}

func (s *engine) SetRequestDefaults(ctx context.Context, settings control.RequestDefaults, by string) error {
	return s.setHubSettings(ctx, "requests", settings, by)
}

func (s *engine) AutomaticFreezes(ctx context.Context, f store.AutomaticFreezeFilter) ([]control.Freeze, error) {
	rows, err := s.readers.query(ctx, freezeColumns+` WHERE rule <> '' AND (?1 = '' OR rule = ?1) AND (?2 = '' OR app = ?2 AND (?3 = '' OR session = ?3))
		ORDER BY id DESC LIMIT ?4`, string(f.Rule), f.App, f.Session, f.Limit)
	return collect(rows, err, func(rows *sql.Rows, f *control.Freeze) error { return rows.Scan(freezeFields(f)...) })
}
