package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/hookback/hookback/server/internal/store/tables"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// schemaStep is the number of tables.Schema.
	schemaStep = 62
	// oldestUpgrade is the oldest schema that upgradeTables reads.
	oldestUpgrade = 59
)

// migration returns the steps of this version.
func migration() *tables.Migration {
	files, _ := fs.Sub(migrations, "migrations") // it is embedded
	return &tables.Migration{
		Dialect: goose.DialectSQLite3, Files: files, Step: schemaStep, Oldest: oldestUpgrade, Make: makeTables,
		UpgradeNotice: "database upgrade started; it may take seconds to minutes and needs free space of the size of the database",
	}
}

// makeTables makes the tables of an empty database, or upgrades those of an old one. Builds before the first
// release also had the tables of tables.Schema under the number before it: they stay.
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

// changedColumns are the columns whose values an upgrade computes, by table.
var changedColumns = map[string]map[string]string{
	"rules": {
		"created_by": `coalesce(json_extract(CAST(rule AS TEXT), '$.createdBy'), '')`,
		"scope":      `coalesce(json_extract(CAST(rule AS TEXT), '$.scope'), '')`,
	},
	"zones":        {"kind": `coalesce((SELECT kind FROM names n WHERE n.kind IN (1, 2, 3, 4) AND n.id = old_zones.name), 0)`},
	"search_grams": {"place": `place & ((1 << 48) - 1)`}, // the bits above were the stream
}

// movedTables are the statements for tables that have another name now.
var movedTables = map[string]string{
	"derived":       `INSERT OR REPLACE INTO cursors (name, cursor) SELECT 'projections', cursor FROM old_derived`,
	"rating_cursor": `INSERT OR REPLACE INTO cursors (name, cursor) SELECT 'ratings', cursor FROM old_rating_cursor`,
}

const queryHubTables = ` FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'goose_db_version' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND type = `

// upgradeTables replaces the tables of a schema from oldestUpgrade on. Their keys began with a stream,
// which was always 1.
func upgradeTables(ctx context.Context, t *sql.Tx, schema string) error {
	var key []byte
	if err := t.QueryRowContext(ctx, `SELECT coalesce(max(key), X'') FROM hub`).Scan(&key); err != nil {
		return err
	}
	if len(key) > 0 {
		return errors.New("the database has a key that is not encrypted; start and stop the build that wrote it once more")
	}
	rows, err := t.QueryContext(ctx, `SELECT name`+queryHubTables+`'table'`)
	names, err := scanTexts(rows, err)
	if err != nil {
		return err
	}
	rows, err = t.QueryContext(ctx, `SELECT 'DROP INDEX ' || name`+queryHubTables+`'index'`)
	steps, err := scanTexts(rows, err)
	if err != nil {
		return err
	}
	for _, name := range names {
		steps = append(steps, `ALTER TABLE `+name+` RENAME TO old_`+name)
	}
	for _, step := range append(steps, schema) {
		if _, err := t.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := upgradeTable(ctx, t, name); err != nil {
			return fmt.Errorf("upgrade the table %s: %w", name, err)
		}
	}
	return nil
}

func upgradeTable(ctx context.Context, t *sql.Tx, name string) error {
	query, isMoved := movedTables[name]
	if !isMoved {
		var err error
		if query, err = copyStatement(ctx, t, name); err != nil {
			return err
		}
	}
	var hasRowID bool
	err := t.QueryRowContext(ctx, `SELECT NOT wr FROM pragma_table_list(?)`, "old_"+name).Scan(&hasRowID)
	if err != nil {
		return err
	}
	if hasRowID {
		err = moveRows(ctx, t, name, query)
	} else {
		_, err = t.ExecContext(ctx, query)
	}
	if err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, `DROP TABLE old_`+name)
	return err
}

// copyStatement returns the statement that copies the rows of an old table.
func copyStatement(ctx context.Context, t *sql.Tx, name string) (string, error) {
	rows, err := t.QueryContext(ctx, `SELECT n.name FROM pragma_table_info(?1) n
		LEFT JOIN pragma_table_info('old_' || ?1) o ON o.name = n.name WHERE o.name IS NOT NULL OR n.dflt_value IS NULL`, name)
	columns, err := scanTexts(rows, err)
	if err != nil {
		return "", err
	}
	values := slices.Clone(columns)
	for i, column := range columns {
		if changed, ok := changedColumns[name][column]; ok {
			values[i] = changed
		}
	}
	return fmt.Sprintf(`INSERT OR REPLACE INTO %s (%s) SELECT %s FROM old_%[1]s`, name, strings.Join(columns, ", "), strings.Join(values, ", ")), nil
}

// moveRows copies and removes a part of the rows at a time: the new rows take the pages of the old ones,
// so that the file doesn't grow to its double.
func moveRows(ctx context.Context, t *sql.Tx, name, query string) error {
	const part = 4096
	for {
		var last sql.NullInt64
		err := t.QueryRowContext(ctx, `SELECT max(rowid) FROM (SELECT rowid FROM old_`+name+` ORDER BY rowid LIMIT ?)`, part).Scan(&last)
		if err != nil || !last.Valid {
			return err
		}
		for _, statement := range []string{query + ` WHERE rowid <= ? ORDER BY rowid`, `DELETE FROM old_` + name + ` WHERE rowid <= ?`} {
			if _, err := t.ExecContext(ctx, statement, last.Int64); err != nil {
				return err
			}
		}
	}
}

// scanTexts returns the first column of a query.
func scanTexts(rows *sql.Rows, err error) (texts []string, _ error) {
	err = eachRow(rows, err, func(rows tables.Rows) error {
		texts = append(texts, "")
		return rows.Scan(&texts[len(texts)-1])
	})
	return texts, err
}

// movedSchema is a schema version that no Hookback supports. Versions that do not know the table
// moved refuse such a database as one of a newer version.
const movedSchema = 1_000_000

// markMoved records that the database was copied to another one, which now has the
// hub's data.
func markMoved(ctx context.Context, db *sql.DB, to string, at time.Time) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }()
	_, err = t.ExecContext(ctx, `CREATE TABLE moved (at INTEGER NOT NULL, target TEXT NOT NULL) STRICT;
		INSERT INTO moved (at, target) VALUES (?1, ?2);
		INSERT INTO goose_db_version (version_id, is_applied) VALUES (?3, 1)`, at.UnixMilli(), to, movedSchema)
	if err != nil {
		return err
	}
	return t.Commit()
}

// requireNotMoved refuses a database that markMoved has marked.
func requireNotMoved(ctx context.Context, db *sql.DB) error {
	var isMarked bool
	err := db.QueryRowContext(ctx, `SELECT count(*) > 0 FROM sqlite_master WHERE name = 'moved'`).Scan(&isMarked)
	if err != nil || !isMarked {
		return err
	}
	var at int64
	var target string
	if err := db.QueryRowContext(ctx, `SELECT at, target FROM moved`).Scan(&at, &target); err != nil {
		return fmt.Errorf("read where the hub was moved: %w", err)
	}
	return fmt.Errorf("this hub moved to %s at %s: hookback-server copy copied the file, and what happened since is only there; nothing was changed; start the hub with -db and that address, or choose another file with -db",
		target, time.UnixMilli(at).UTC().Format("2006-01-02 15:04 MST"))
}
