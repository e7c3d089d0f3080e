package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate upgrades the database to the current schema, each step in its own transaction, and
// returns its version. Hubs that start together migrate one after the other.
func migrate(ctx context.Context, cfg *pgx.ConnConfig, log *slog.Logger) (version int64, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return 0, err
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return 0, err
	}
	own := cfg.Copy()
	own.RuntimeParams["statement_timeout"], own.RuntimeParams["lock_timeout"] = "0", "0"
	db := stdlib.OpenDB(*own)
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(locker))
	if err != nil {
		return 0, err
	}
	current, newest, err := p.GetVersions(ctx)
	switch {
	case err != nil:
		return 0, fmt.Errorf("read the schema version: %w", err)
	case current > newest:
		return 0, fmt.Errorf("the database was written by a newer Hookback (schema %d, this version supports %d); nothing was changed; upgrade to that version, or choose another database with -db", current, newest)
	case current == newest:
		return newest, nil
	case current > 0:
		log.Info("database upgrade started", "schema", current, "to", newest)
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, fmt.Errorf("migrate the schema from %d to %d: %w", current, newest, err)
	}
	return newest, nil
}

// Template creates the schema in an empty database, without a hub's identity. A copy of it opens
// faster than an empty database; tests use it.
func Template(ctx context.Context, dsn string) error {
	cfg, err := poolConfig(dsn)
	if err != nil {
		return err
	}
	_, err = migrate(ctx, cfg.ConnConfig, slog.New(slog.DiscardHandler))
	return err
}
