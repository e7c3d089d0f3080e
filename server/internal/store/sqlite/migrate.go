package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate upgrades the database to the current schema, each step in its own transaction, and
// returns its version. It logs the start of an upgrade, which can take a while.
func migrate(ctx context.Context, db *sql.DB, log *slog.Logger) (version int64, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return 0, err
	}
	// Closing the provider would close db.
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return 0, err
	}
	current, newest, err := p.GetVersions(ctx)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the schema version: %w", err)
	case current > newest:
		return 0, fmt.Errorf("the database was written by a newer Hookback (schema %d, this version supports %d); nothing was changed; upgrade to that version, restore a backup from before the upgrade, or choose another database with -db", current, newest)
	}
	steps, err := p.Status(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the schema's steps: %w", err)
	}
	for _, s := range steps {
		if s.State == goose.StatePending && s.Source.Version < current {
			return 0, fmt.Errorf("the database was written by a build between two versions of Hookback (schema %d without step %d); nothing was changed; start the build that wrote it, or restore a backup from before it", current, s.Source.Version)
		}
	}
	if current == newest {
		return newest, nil
	}
	if current > 0 {
		log.Info("database upgrade started; it may take seconds to minutes and needs free space of the size of the questions", "schema", current, "to", newest)
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, fmt.Errorf("migrate the schema from %d to %d: %w", current, newest, err)
	}
	return newest, nil
}

// Template creates a database file with the schema but without a hub's identity. Opening
// a copy of it is ten times faster than migrating an empty file; storetest gives each
// test such a copy.
func Template(ctx context.Context, file string) error {
	if err := ensurePrivateFile(file); err != nil {
		return err
	}
	db, err := connect(ctx, file, "NORMAL", false)
	if err != nil {
		return err
	}
	_, err = migrate(ctx, db, slog.New(slog.DiscardHandler))
	return errors.Join(err, db.Close()) // the last connection checkpoints the WAL into the file
}
