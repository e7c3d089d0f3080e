package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// CopySource reads a database that no hub has open, for a copy to another engine. It implements
// store.CopySource and changes nothing until MarkMoved.
type CopySource struct {
	files   *openFiles
	db      *sql.DB
	state   store.CopyState
	columns map[string][]string // by table
	names   map[int64]string    // the dictionary
	nameIDs int64               // is added to the ids of names, so that the names of later events have higher ones
}

// OpenCopySource locks the database at path and reads its state. It fails with store.ErrLocked if a
// hub is running.
func OpenCopySource(ctx context.Context, path string) (*CopySource, error) {
	file, err := databasePath(path)
	if err != nil {
		return nil, err
	}
	s := &CopySource{columns: map[string][]string{}, names: map[int64]string{}}
	if err := s.open(ctx, file); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", file, openError(err)), s.Close())
	}
	return s, nil
}

func (s *CopySource) open(ctx context.Context, file string) (err error) {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if s.files, s.db, err = openLocked(ctx, file, "FULL"); err == nil {
		err = requireCurrentSchema(ctx, s.db)
	}
	if err == nil {
		err = s.readState(ctx, identity.File(file))
	}
	if err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT id, name FROM names`)
	err = eachRow(rows, err, func(rows tables.Rows) error {
		var id int64
		var name string
		err := rows.Scan(&id, &name)
		s.names[id] = name
		return err
	})
	if err != nil {
		return err
	}
	rows, err = s.db.QueryContext(ctx, `SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'`)
	return eachRow(rows, err, func(rows tables.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		if !slices.Contains(notCopied, table) {
			s.columns[table] = append(s.columns[table], column)
		}
		return err
	})
}

// notCopied are tables that the target has in another form, or makes itself.
var notCopied = []string{
	"streams",                       // State
	"search_blocks", "search_grams", // the search index, which the hub builds
	"goose_db_version", "sqlite_sequence", "moved",
}

// requireCurrentSchema refuses a database that a hub of this version would migrate.
func requireCurrentSchema(ctx context.Context, db *sql.DB) error {
	p, err := migration().Provider(db)
	if err != nil {
		return err
	}
	current, newest, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if current != newest {
		return fmt.Errorf("its schema is %d, and this version copies %d; nothing was changed; start and stop the hub of this version on it, then copy", current, newest)
	}
	return nil
}

func (s *CopySource) readState(ctx context.Context, keyFile string) error {
	var public []byte
	err := s.db.QueryRowContext(ctx, `SELECT id, public_key FROM hub`).Scan(&s.state.HubID, &public)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(public) == 0 {
		return errors.New("no hub has used it, so there is nothing to copy; start the hub on the other database")
	}
	if err != nil {
		return err
	}
	if _, err := identity.Open(keyFile, public); err != nil {
		return fmt.Errorf("%s: %w; restore it from your backup: the hub needs it on the other database, too", keyFile, err)
	}
	s.state.KeyFile = keyFile
	c, err := readCounters(ctx, s.db)
	if err != nil {
		return err
	}
	s.state.Head, s.state.Pruned, s.state.Received, s.state.Events = c.Head, c.Pruned, c.Received, c.Events
	s.nameIDs = c.Head - c.lastNameID
	s.state.ChainN, s.state.ChainHash = c.Chain.N, c.Chain.Hash
	return tables.IgnoreNoRows(s.db.QueryRowContext(ctx, `SELECT seq, uid FROM events ORDER BY seq DESC LIMIT 1`).Scan(&s.state.Newest, &s.state.NewestUID))
}

// State implements store.CopySource.
func (s *CopySource) State() store.CopyState { return s.state }

// Columns implements store.CopySource.
func (s *CopySource) Columns(table string) []string { return s.columns[table] }

// namedColumns are the columns with ids of the dictionary, by table.
var namedColumns = map[string][]string{
	"events": {"app", "session", "type", "tool"}, "questions": {"app", "session", "type", "tool"}, "zones": {"name"},
}

// Rows implements store.CopySource.
func (s *CopySource) Rows(ctx context.Context, table string, columns []string, order string) iter.Seq2[[]any, error] {
	var named []int
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	expressions := slices.Clone(columns)
	for i, column := range columns {
		dest[i] = &values[i]
		if slices.Contains(namedColumns[table], column) {
			named = append(named, i)
		}
		if table == "names" && column == "id" {
			expressions[i] = fmt.Sprintf("id + (%d)", s.nameIDs)
		}
	}
	query := []string{"SELECT", strings.Join(expressions, ", "), "FROM", table}
	if order != "" {
		query = append(query, "ORDER BY", order)
	}
	return func(yield func([]any, error) bool) {
		rows, err := s.db.QueryContext(ctx, strings.Join(query, " "))
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			err := rows.Scan(dest...)
			for _, i := range named {
				id, _ := values[i].(int64)
				name, ok := s.names[id]
				if err == nil && !ok && id != 0 {
					err = fmt.Errorf("the table %s has the name %d, which does not exist; nothing was changed; run hookback-server check", table, id)
				}
				values[i] = name
			}
			if !yield(values, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// MarkMoved records that the hub's data has moved to the database to: no hub starts on this
// one any more.
func (s *CopySource) MarkMoved(ctx context.Context, to string, at time.Time) error {
	return markMoved(ctx, s.db, to, at)
}

// Close releases the lock.
func (s *CopySource) Close() (err error) {
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.files.Close())
}
