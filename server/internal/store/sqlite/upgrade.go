package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/server/internal/store/tables"
)

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
	names := map[string][]string{}
	for _, kind := range []string{"table", "index"} {
		rows, err := t.QueryContext(ctx, `SELECT name FROM sqlite_master
			WHERE type = ? AND sql IS NOT NULL AND name <> 'goose_db_version' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'`, kind)
		if names[kind], err = scanTexts(rows, err); err != nil {
			return err
		}
	}
	for _, name := range names["index"] {
		if _, err := t.ExecContext(ctx, `DROP INDEX `+name); err != nil {
			return err
		}
	}
	for _, name := range names["table"] {
		if _, err := t.ExecContext(ctx, `ALTER TABLE `+name+` RENAME TO old_`+name); err != nil {
			return err
		}
	}
	if _, err := t.ExecContext(ctx, schema); err != nil {
		return err
	}
	for _, name := range names["table"] {
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
