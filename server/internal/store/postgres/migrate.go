package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/hookback/hookback/server/internal/store/tables"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed schema.sql
var ownSchema string

const (
	// schemaStep is the number of tables.Schema.
	schemaStep = 10
	// oldestUpgrade is the oldest schema that upgradeTables reads.
	oldestUpgrade = 7
)

var schemaFiles, _ = fs.Sub(migrations, "migrations") // they are embedded

// migrate upgrades the database to the schema of the files. Hubs that start together migrate one after the other. A newer
// schema stays unchanged: the caller checks it with requireCompatible.
func migrate(ctx context.Context, cfg *pgx.ConnConfig, files fs.FS, log *slog.Logger) (version int64, err error) {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return 0, err
	}
	own := cfg.Copy()
	own.RuntimeParams["statement_timeout"], own.RuntimeParams["lock_timeout"] = "0", "0"
	db := stdlib.OpenDB(*own)
	defer func() { err = errors.Join(err, db.Close()) }()
	steps := tables.Migration{
		Dialect: goose.DialectPostgres, Files: files, Step: schemaStep, Oldest: oldestUpgrade, Make: makeTables,
		AcceptsNewer: true, Options: []goose.ProviderOption{goose.WithSessionLocker(locker)}, UpgradeNotice: "database upgrade started",
	}
	return steps.Run(ctx, db, log)
}

// upgradeTables brings the tables of a schema from oldestUpgrade on to those of tables.Schema. The search index is
// built again. Older hubs can't use the tables any more.
const upgradeTables = `CREATE TABLE IF NOT EXISTS coverage (host text COLLATE "C" NOT NULL, account text COLLATE "C" NOT NULL,
	agent text COLLATE "C" NOT NULL, report bytea NOT NULL, reported_at bigint NOT NULL, proof bytea NOT NULL, proven_at bigint NOT NULL,
	PRIMARY KEY (host, account, agent));
	ALTER TABLE coverage ADD COLUMN IF NOT EXISTS requester text COLLATE "C" NOT NULL DEFAULT '';
	ALTER TABLE names RENAME COLUMN first TO id;
	ALTER INDEX names_by_first RENAME TO names_by_id;
	DROP TABLE search_grams;
	UPDATE search_blocks SET made = '';
	CREATE TABLE search_grams (place bigint PRIMARY KEY, grams bytea NOT NULL);
	ALTER TABLE search_grams ALTER COLUMN grams SET STORAGE EXTERNAL;
	UPDATE streams SET min_schema = 10`

// makeTables makes the tables of an empty database, or upgrades those of an old one.
func makeTables(ctx context.Context, t *sql.Tx, schema string) error {
	var isOld bool
	if err := t.QueryRowContext(ctx, `SELECT to_regclass(quote_ident(current_schema()) || '.hub') IS NOT NULL`).Scan(&isOld); err != nil {
		return err
	}
	statements := []string{schema, ownSchema}
	if isOld {
		statements = []string{upgradeTables}
	}
	for _, s := range statements {
		if _, err := t.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// newestSchema is the newest schema version that this hub has.
var newestSchema = sync.OnceValue(func() int64 {
	files, _ := migrations.ReadDir("migrations")                     // they are embedded, in the order of their numbers
	version, _ := goose.NumericComponent(files[len(files)-1].Name()) // goose checks the names
	return version
})

// errIncompatible means that a newer hub has changed the database, so that this one can't use it. A
// running hub drains and ends.
var errIncompatible = errors.New("the database needs a newer Hookback")

// requireCompatible fails with errIncompatible if the database needs a hub with a newer schema.
// A newer schema alone is no reason: two releases may run side by side.
func requireCompatible(ctx context.Context, conn interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}) error {
	var needed int64
	if err := conn.QueryRow(ctx, `SELECT min_schema FROM streams`).Scan(&needed); err != nil {
		return err
	}
	if needed > newestSchema() {
		return incompatible(needed)
	}
	return nil
}

func incompatible(needed int64) error {
	return fmt.Errorf("%w: schema %d, and this version supports %d; nothing was changed; upgrade this hub, or choose another database with -db", errIncompatible, needed, newestSchema())
}

// Template creates the schema in an empty database, without a hub's identity. A copy of it opens
// faster than an empty database; tests use it.
func Template(ctx context.Context, dsn string) error {
	cfg, err := poolConfig(dsn)
	if err != nil {
		return err
	}
	_, err = migrate(ctx, cfg.ConnConfig, schemaFiles, slog.New(slog.DiscardHandler))
	return err
}
