package tables

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

// Migration makes the tables of an empty database, or upgrades those of an old one.
type Migration struct {
	Dialect goose.Dialect
	Files   fs.FS // a numbered file for each step after Schema
	Step    int64 // the number of Schema
	Oldest  int64 // the oldest schema that Make upgrades: before Schema there was a chain of steps
	// Make makes the tables of an empty database with the statements of Schema, or upgrades those of an old one.
	Make          func(ctx context.Context, t *sql.Tx, schema string) error
	AcceptsNewer  bool // a newer schema stays unchanged, and is no error
	Options       []goose.ProviderOption
	UpgradeNotice string // is logged before an upgrade
}

// Provider returns the steps for a database. Closing it would close db.
func (m *Migration) Provider(db *sql.DB) (*goose.Provider, error) {
	first := goose.GoFunc{RunTx: func(ctx context.Context, t *sql.Tx) error { return m.Make(ctx, t, Schema(m.Dialect)) }}
	return goose.NewProvider(m.Dialect, db, m.Files, append(m.Options, goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(goose.NewGoMigration(m.Step, &first, nil)))...)
}

// Run upgrades the database to the current schema, each step in its own transaction, and returns its version. It
// logs the start of an upgrade, which can take a while.
func (m *Migration) Run(ctx context.Context, db *sql.DB, log *slog.Logger) (version int64, err error) {
	p, err := m.Provider(db)
	if err != nil {
		return 0, err
	}
	current, newest, err := p.GetVersions(ctx)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the schema version: %w", err)
	case current > newest && !m.AcceptsNewer:
		return 0, fmt.Errorf("the database was written by a newer Hookback (schema %d, this version supports %d); nothing was changed; "+
			"upgrade to that version, restore a backup from before the upgrade, or choose another database with -db", current, newest)
	case current > 0 && current < m.Oldest:
		return 0, fmt.Errorf("the database was written by an old build of Hookback (schema %d, this version upgrades from %d); "+
			"nothing was changed; start and stop the build of commit ff4c8f2b on it, then this one", current, m.Oldest)
	}
	if current > 0 {
		if err := requireNoGap(ctx, p, current); err != nil || current >= newest {
			return current, err
		}
		log.Info(m.UpgradeNotice, "schema", current, "to", newest)
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, fmt.Errorf("migrate the schema from %d to %d: %w", current, newest, err)
	}
	return newest, nil
}

// requireNoGap refuses a database without one of the steps before its version: it has unknown tables.
func requireNoGap(ctx context.Context, p *goose.Provider, current int64) error {
	steps, err := p.Status(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's steps: %w", err)
	}
	for _, s := range steps {
		if s.State == goose.StatePending && s.Source.Version < current {
			return fmt.Errorf("the database was written by a build between two versions of Hookback (schema %d without step %d); "+
				"nothing was changed; start the build that wrote it, restore a backup from before it, or choose another database with -db",
				current, s.Source.Version)
		}
	}
	return nil
}
