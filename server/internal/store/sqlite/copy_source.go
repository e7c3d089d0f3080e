package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
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
	names   map[int64]tables.Name
	first   map[int64]int64 // the first event with a name, as of the last reading of the events
}

// OpenCopySource locks the database at path and reads its state. It fails with store.ErrLocked if a
// hub is running.
func OpenCopySource(ctx context.Context, path string) (*CopySource, error) {
	file, err := databasePath(path)
	if err != nil {
		return nil, err
	}
	s := &CopySource{columns: map[string][]string{}, names: map[int64]tables.Name{}, first: map[int64]int64{}}
	if err := s.open(ctx, file); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", file, openError(err)), s.Close())
	}
	return s, nil
}

func (s *CopySource) open(ctx context.Context, file string) error {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if err := requireHubDatabase(ctx, file); err != nil {
		return err
	}
	var err error
	if s.files, err = openDatabaseFiles(file); err != nil {
		return err
	}
	if s.db, err = connect(ctx, file, "FULL", false); err != nil {
		return err
	}
	if err := requireNotMoved(ctx, s.db); err != nil {
		return err
	}
	if err := requireCurrentSchema(ctx, s.db); err != nil {
		return err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := s.readState(ctx, conn, identity.File(file)); err != nil {
		return err
	}
	if err := s.readNames(ctx, conn); err != nil {
		return err
	}
	return s.readColumns(ctx, conn)
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

func (s *CopySource) readState(ctx context.Context, conn *sql.Conn, keyFile string) error {
	var public []byte
	err := conn.QueryRowContext(ctx, `SELECT id, public_key FROM hub`).Scan(&s.state.HubID, &public)
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
	c, err := readCounters(ctx, conn)
	if err != nil {
		return err
	}
	s.state.Head, s.state.Pruned, s.state.Received, s.state.Events = c.Head, c.Pruned, c.Received, c.Events
	end, err := readChain(ctx, conn)
	s.state.ChainN, s.state.ChainHash = end.N, end.Hash
	if err != nil {
		return err
	}
	return ignoreNoRows(conn.QueryRowContext(ctx, `SELECT seq, uid FROM events ORDER BY seq DESC LIMIT 1`).Scan(&s.state.Newest, &s.state.NewestUID))
}

func (s *CopySource) readNames(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, `SELECT id, kind, name FROM names`)
	return eachRow(rows, err, func(rows tables.Rows) error {
		var id int64
		var key tables.Name
		err := rows.Scan(&id, &key.Kind, &key.Text)
		s.names[id] = key
		return err
	})
}

// notCopied are tables that the target has in another form, or makes itself.
var notCopied = []string{
	"streams",        // State
	"names", "zones", // with texts
	"search_blocks", "search_grams", // the search index, which the hub builds
	"goose_db_version", "sqlite_sequence", "moved",
}

func (s *CopySource) readColumns(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, `SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'`)
	err = eachRow(rows, err, func(rows tables.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		if !slices.Contains(notCopied, table) {
			s.columns[table] = append(s.columns[table], column)
		}
		return err
	})
	s.columns["names"] = []string{"kind", "name", "id"}
	s.columns["zones"] = []string{"kind", "name", "zone"}
	return err
}

// State implements store.CopySource.
func (s *CopySource) State() store.CopyState { return s.state }

// Columns implements store.CopySource.
func (s *CopySource) Columns(table string) []string { return s.columns[table] }

// Rows implements store.CopySource.
func (s *CopySource) Rows(ctx context.Context, table string, columns []string, order string, row func(values []any) error) error {
	switch table {
	case "names":
		return s.nameRows(columns, row)
	case "zones":
		return s.zoneRows(ctx, columns, row)
	}
	query := copyQuery(table, columns, order)
	resolve := s.resolver(table, columns)
	return s.each(ctx, query, len(columns), func(values []any) error {
		if err := resolve(values); err != nil {
			return fmt.Errorf("read the table %s: %w", table, err)
		}
		return row(values)
	})
}

func copyQuery(table string, columns []string, order string) string {
	expressions := make([]string, len(columns))
	for i, column := range columns {
		expressions[i] = `"` + column + `"`
	}
	query := `SELECT ` + strings.Join(expressions, ", ") + ` FROM ` + table + ``
	if order != "" {
		query += ` ORDER BY "` + order + `"`
	}
	return query
}

// resolver returns a function that replaces the ids of names by the names. It notes the first event
// of each name.
func (s *CopySource) resolver(table string, columns []string) func(values []any) error {
	if table != "events" && table != "questions" && table != "awaiting" {
		return func([]any) error { return nil }
	}
	var named []int
	for i, column := range columns {
		if slices.Contains([]string{"app", "session", "type", "tool"}, column) {
			named = append(named, i)
		}
	}
	seq := slices.Index(columns, "seq")
	return func(values []any) error {
		for _, i := range named {
			id, _ := values[i].(int64)
			key, ok := s.names[id]
			if !ok && id != 0 {
				return fmt.Errorf("row %v has the name %d, which does not exist; nothing was changed; run hookback-server check", values[seq], id)
			}
			values[i] = []byte(key.Text)
			if _, seen := s.first[id]; !seen && table == "events" {
				s.first[id], _ = values[seq].(int64)
			}
		}
		return nil
	}
}

// nameRows has the names in the order in which they came. The first event of a name may be removed, so
// it is not after that of the next name.
func (s *CopySource) nameRows(columns []string, row func(values []any) error) error {
	ids := slices.SortedFunc(maps.Keys(s.names), func(a, b int64) int { return cmp.Compare(b, a) })
	next := map[tables.NameKind]int64{}
	for _, id := range ids {
		key := s.names[id]
		first, ok := s.first[id]
		if later, has := next[key.Kind]; has && (!ok || later < first) {
			first = later
		} else if !ok {
			first = s.state.Head
		}
		next[key.Kind] = first
		if err := row(pick(columns, s.columns["names"], []any{int64(key.Kind), []byte(key.Text), first})); err != nil {
			return err
		}
	}
	return nil
}

func (s *CopySource) zoneRows(ctx context.Context, columns []string, row func(values []any) error) error {
	return s.each(ctx, `SELECT name, zone FROM zones`, 2, func(values []any) error {
		id, _ := values[0].(int64)
		key, ok := s.names[id]
		if !ok {
			return nil
		}
		return row(pick(columns, s.columns["zones"], []any{int64(key.Kind), []byte(key.Text), values[1]}))
	})
}

// pick returns the values of the columns in wanted.
func pick(wanted, columns []string, values []any) []any {
	picked := make([]any, len(wanted))
	for i, column := range wanted {
		picked[i] = values[slices.Index(columns, column)]
	}
	return picked
}

// each calls row for each row of a query with n columns.
func (s *CopySource) each(ctx context.Context, query string, n int, row func(values []any) error) error {
	rows, err := s.db.QueryContext(ctx, query)
	dest, cells := make([]any, n), make([]cell, n)
	for i := range cells {
		dest[i] = &cells[i]
	}
	values := make([]any, n)
	return eachRow(rows, err, func(rows tables.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i := range cells {
			values[i] = cells[i].value
		}
		return row(values)
	})
}

// cell is a value of a row. It keeps the bytes that the driver owns until the next row.
type cell struct{ value any }

// Scan implements sql.Scanner.
func (c *cell) Scan(value any) error {
	if text, ok := value.(string); ok {
		value = []byte(text)
	}
	c.value = value
	return nil
}

// MarkMoved records that the hub's data has moved to the database to: no hub starts on this
// one any more.
func (s *CopySource) MarkMoved(ctx context.Context, to string, at time.Time) error {
	return markMoved(ctx, s.db, to, at)
}

// Close releases the lock.
func (s *CopySource) Close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.files != nil {
		errs = append(errs, s.files.Close())
	}
	return errors.Join(errs...)
}
