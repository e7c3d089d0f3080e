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

// migrations has the schema, and a numbered file for each later step.
//
//go:embed migrations/*.sql
var migrations embed.FS

const (
	schemaFile = "0062_schema.sql"
	schemaStep = 62
	// oldestUpgrade is the oldest schema that upgradeTables reads. Before schemaFile there was a chain of steps.
	oldestUpgrade = 59
)

// migrate upgrades the database to the current schema, each step in its own transaction, and
// returns its version. It logs the start of an upgrade, which can take a while.
func migrate(ctx context.Context, db *sql.DB, log *slog.Logger) (version int64, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return 0, err
	}
	return migrateTo(ctx, db, files, log)
}

// newMigrator returns the provider of the steps in files. Closing it would close db.
func newMigrator(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	schema, err := fs.ReadFile(files, schemaFile)
	if err != nil {
		return nil, err
	}
	makeTables := func(ctx context.Context, t *sql.Tx) error { return makeTables(ctx, t, string(schema)) }
	return goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true), goose.WithExcludeNames([]string{schemaFile}),
		goose.WithGoMigrations(goose.NewGoMigration(schemaStep, &goose.GoFunc{RunTx: makeTables}, nil)))
}

func migrateTo(ctx context.Context, db *sql.DB, files fs.FS, log *slog.Logger) (version int64, err error) {
	p, err := newMigrator(db, files)
	if err != nil {
		return 0, err
	}
	current, newest, err := p.GetVersions(ctx)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the schema version: %w", err)
	case current > newest:
		return 0, fmt.Errorf("the database was written by a newer Hookback (schema %d, this version supports %d); nothing was changed; "+
			"upgrade to that version, restore a backup from before the upgrade, or choose another database with -db", current, newest)
	case current > 0 && current < oldestUpgrade:
		return 0, fmt.Errorf("the database was written by an old build of Hookback (schema %d, this version upgrades from %d); "+
			"nothing was changed; start and stop the build of commit ff4c8f2b on it, then this one", current, oldestUpgrade)
	}
	if current > 0 {
		if err := requireNoGap(ctx, p, current); err != nil || current == newest {
			return newest, err
		}
		log.Info("database upgrade started; it may take seconds to minutes and needs free space of the size of the database",
			"schema", current, "to", newest)
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, fmt.Errorf("migrate the schema from %d to %d: %w", current, newest, err)
	}
	return newest, nil
}

// requireNoGap refuses a database without one of the steps before its version.
func requireNoGap(ctx context.Context, p *goose.Provider, current int64) error {
	steps, err := p.Status(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's steps: %w", err)
	}
	for _, s := range steps {
		if s.State == goose.StatePending && s.Source.Version < current {
			return fmt.Errorf("the database was written by a build between two versions of Hookback (schema %d without step %d); "+
				"nothing was changed; start the build that wrote it, or restore a backup from before it", current, s.Source.Version)
		}
	}
	return nil
}

// makeTables makes the tables of an empty database, or upgrades those of an old one. Builds before the first
// release also had the tables of schemaFile under the number before it: they stay.
func makeTables(ctx context.Context, t *sql.Tx, schema string) error {
	var hasTables, isOld bool
	err := t.QueryRowContext(ctx, `SELECT count(*) > 0, total(name = 'stream_id') > 0 FROM pragma_table_info('hub')`).Scan(&hasTables, &isOld)
	if err == nil && isOld {
		return upgradeTables(ctx, t, schema)
	}
	if err == nil && !hasTables {
		_, err = t.ExecContext(ctx, schema)
	}
	return err
}

// Template creates a database file with the schema but without a hub's identity. Opening
// a copy of it is faster than making the tables; storetest gives each test such a copy.
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
