package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"

	"github.com/hookback/hookback/server/internal/store/tables"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	schemaFile = "0062_schema.sql"
	schemaStep = 62
	// oldestUpgrade is the oldest schema that upgradeTables reads.
	oldestUpgrade = 59
)

// migration returns the steps of this version.
func migration() *tables.Migration {
	files, _ := fs.Sub(migrations, "migrations") // it is embedded
	return &tables.Migration{
		Dialect: goose.DialectSQLite3, Files: files, Schema: schemaFile, Step: schemaStep, Oldest: oldestUpgrade, Make: makeTables,
		UpgradeNotice: "database upgrade started; it may take seconds to minutes and needs free space of the size of the database",
	}
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
	_, err = migration().Run(ctx, db, slog.New(slog.DiscardHandler))
	return errors.Join(err, db.Close()) // the last connection checkpoints the WAL into the file
}
