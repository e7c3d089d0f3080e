package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

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
	for _, step := range []struct {
		query string
		args  []any
	}{
		{`CREATE TABLE moved (at INTEGER NOT NULL, target TEXT NOT NULL) STRICT`, nil},
		{`INSERT INTO moved (at, target) VALUES (?, ?)`, []any{at.UnixMilli(), to}},
		{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)`, []any{movedSchema}},
	} {
		if _, err := t.ExecContext(ctx, step.query, step.args...); err != nil {
			return err
		}
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
