package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/server/internal/identity"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// CopyConfig configures Copy.
type CopyConfig struct {
	DSN     string
	KeyFile string       // receives the hub's key
	Log     *slog.Logger // default: discards
}

// Copy copies a hub's database into an empty schema, in one transaction, and compares the result with
// the source before the commit. A failed copy leaves tables without rows. progress is called often.
func Copy(ctx context.Context, cfg CopyConfig, source store.CopySource, progress func(store.CopyProgress)) (store.CopyReport, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &copier{source: source, state: source.State(), progress: progress}
	if err := c.run(ctx, &cfg); err != nil {
		return c.report, fmt.Errorf("copy to %s: %w", Redact(cfg.DSN), err)
	}
	return c.report, nil
}

// copier is a run of Copy.
type copier struct {
	source   store.CopySource
	state    store.CopyState
	progress func(store.CopyProgress)
	conn     *pgx.Conn
	report   store.CopyReport
}

func (c *copier) run(ctx context.Context, cfg *CopyConfig) error {
	pool, err := poolConfig(cfg.DSN)
	if err != nil {
		return err
	}
	if c.conn, err = pgx.ConnectConfig(ctx, writerConfig(pool.ConnConfig)); err != nil {
		return err
	}
	defer func() { _ = c.conn.Close(context.WithoutCancel(ctx)) }()
	if err := requireSettings(ctx, c.conn); err != nil {
		return err
	}
	if c.report.Repeated, err = c.inspect(ctx); err != nil || c.report.Repeated {
		return err
	}
	if err := identity.Copy(c.state.KeyFile, cfg.KeyFile); err != nil {
		return fmt.Errorf("copy the hub's key to %s: %w; nothing was changed; move that file away if its hub is not used any more", cfg.KeyFile, err)
	}
	if _, err := migrate(ctx, pool.ConnConfig, schemaFiles, cfg.Log); err != nil {
		return err
	}
	if err := requireCompatible(ctx, c.conn); err != nil {
		return err
	}
	// Statements take as long as there are rows.
	if _, err := c.conn.Exec(ctx, `SELECT set_config(name, '0', false) FROM pg_settings
		WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`); err != nil {
		return err
	}
	return c.copyAll(ctx)
}

// queryTarget returns the current schema, whether it has the tables of a hub, and the number of
// tables and the like that it has besides the tables of the migrations.
const queryTarget = `SELECT current_schema(), to_regclass(quote_ident(current_schema()) || '.hub') IS NOT NULL,
	(SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND relname NOT LIKE 'goose_db_version%')`

// inspect refuses a target that is used. It returns true if that is by this hub, which has everything
// of the source.
func (c *copier) inspect(ctx context.Context) (isDone bool, err error) {
	var schema *string
	var hasHub bool
	var relations int64
	if err := c.conn.QueryRow(ctx, queryTarget).Scan(&schema, &hasHub, &relations); err != nil {
		return false, err
	}
	if schema == nil {
		return false, errors.New("the schema of search_path does not exist; create it")
	}
	if !hasHub && relations == 0 {
		return false, nil
	}
	refused := fmt.Errorf("the schema %s is not empty; nothing was changed; choose an empty database, or an empty schema with search_path", *schema)
	if !hasHub {
		return false, refused
	}
	var hubID string
	var head int64
	switch err := c.conn.QueryRow(ctx, `SELECT coalesce((SELECT id FROM hub), ''), head FROM streams`).Scan(&hubID, &head); {
	case err != nil:
		return false, err
	case hubID == c.state.HubID:
		return true, c.requireContinued(ctx)
	case hubID != "" || head > 0:
		return false, refused
	}
	return false, nil
}

// requireContinued fails if the source has something that the target does not have.
func (c *copier) requireContinued(ctx context.Context) error {
	var head, pruned int64
	var hash string
	var uid []byte
	err := c.conn.QueryRow(ctx, `SELECT head, pruned, coalesce((SELECT hash FROM ledger WHERE n = $1), ''),
		(SELECT uuid_send(uid) FROM events WHERE seq = $2) FROM streams`, c.state.ChainN, c.state.Newest).Scan(&head, &pruned, &hash, &uid)
	if err != nil {
		return err
	}
	hasEvent := bytes.Equal(uid, c.state.NewestUID) || uid == nil && c.state.Newest <= pruned
	if head < c.state.Head || c.state.ChainN > 0 && hash != c.state.ChainHash || c.state.Newest > 0 && !hasEvent {
		return errors.New("this hub was copied to that database before, and the file was used afterwards; nothing was changed. To continue on PostgreSQL, start no hub on the file any more. To copy again, make the schema empty first, which removes what is there")
	}
	return nil
}

func (c *copier) copyAll(ctx context.Context) error {
	if _, err := c.conn.Exec(ctx, `BEGIN`); err != nil {
		return err
	}
	planned, err := planCopy(ctx, c.conn, c.source)
	if err != nil {
		return err
	}
	for i := range planned {
		if err := c.copyTable(ctx, &planned[i]); err != nil {
			return fmt.Errorf("table %s: %w", planned[i].name, err)
		}
	}
	if err := c.finish(ctx); err != nil {
		return err
	}
	if _, err := c.conn.Exec(ctx, `COMMIT`); err != nil {
		return fmt.Errorf("%w; run the command again: it finds out whether the copy was stored", err)
	}
	return nil
}

// copyTable copies a table, and compares it.
func (c *copier) copyTable(ctx context.Context, t *copyTable) error {
	if t.name != "hub" { // whose row a hub may have inserted since inspect: then the copy fails
		if _, err := c.conn.Exec(ctx, `DELETE FROM `+t.name); err != nil { // the rows of its migration
			return err
		}
	}
	sent, err := c.send(ctx, t)
	merged := int64(0)
	if err == nil && t.mergeable > 0 {
		merged, err = c.merge(ctx, t)
	}
	if err == nil && t.identity != "" { // whose sequence continues after the copied rows
		_, err = c.conn.Exec(ctx, `SELECT setval(pg_get_serial_sequence($1, $2), last)
			FROM (SELECT max(`+t.identity+`) AS last FROM `+t.name+`) AS m WHERE last IS NOT NULL`, t.name, t.identity)
	}
	if err == nil {
		_, err = c.conn.Exec(ctx, `ANALYZE `+t.name)
	}
	if err != nil {
		return err
	}
	rows := sent.step.Rows + t.mergeable
	c.report.Rows, c.report.Bytes, c.report.Merged = c.report.Rows+rows, c.report.Bytes+sent.bytes, c.report.Merged+merged
	if t.order == "" || t.mergeable > 0 {
		return c.checkNumber(ctx, t, rows-merged)
	}
	return c.check(ctx, t, sent)
}

// rows returns the rows of a table with the values for the target: the mergeable ones, or the others.
func (c *copier) rows(ctx context.Context, t *copyTable, mergeable bool) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for values, err := range c.source.Rows(ctx, t.name, t.names, t.order) {
			row, isMergeable := []any(nil), mergeable
			if err == nil {
				row, isMergeable, err = t.convert(values)
			}
			if (err != nil || isMergeable == mergeable) && !yield(row, err) {
				return
			}
			if isMergeable && !mergeable {
				t.mergeable++
			}
		}
	}
}

// send sends the rows of a table that are not mergeable, and returns their digest.
func (c *copier) send(ctx context.Context, t *copyTable) (*rowDigest, error) {
	next, stop := iter.Pull2(c.rows(ctx, t, false))
	defer stop()
	sent := c.newDigest(store.CopyProgress{Table: t.name})
	if t.name == "events" {
		sent.step.Total = c.state.Events
	}
	_, err := c.conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.names, pgx.CopyFromFunc(func() ([]any, error) {
		row, err, ok := next()
		if ok && err == nil {
			sent.add(row)
		}
		return row, err
	}))
	return sent, err
}

// merge inserts the mergeable rows of a table, and returns the number of those that are in another row now.
func (c *copier) merge(ctx context.Context, t *copyTable) (merged int64, err error) {
	for row, err := range c.rows(ctx, t, true) {
		isNew := false
		if err == nil {
			err = tables.IgnoreNoRows(c.conn.QueryRow(ctx, t.insertQuery(), row...).Scan(&isNew))
		}
		if err != nil {
			return 0, err
		}
		if !isNew {
			merged++
		}
	}
	return merged, nil
}

// checkNumber compares the number of the stored rows of a table.
func (c *copier) checkNumber(ctx context.Context, t *copyTable, want int64) error {
	var n int64
	err := c.conn.QueryRow(ctx, `SELECT count(*) FROM `+t.name).Scan(&n)
	if err == nil && n != want {
		err = fmt.Errorf("%d rows are stored in place of %d; nothing was kept", n, want)
	}
	return err
}

// check compares the bytes of the stored rows of a table with those that were sent.
func (c *copier) check(ctx context.Context, t *copyTable, sent *rowDigest) error {
	stored := c.newDigest(store.CopyProgress{Table: t.name, IsCheck: true, Total: sent.step.Rows})
	rows, err := c.conn.Query(ctx, `SELECT `+strings.Join(t.names, ", ")+` FROM `+t.name+` ORDER BY `+t.order)
	err = eachRow(rows, err, func(tables.Rows) error {
		row, err := rows.Values()
		stored.add(row)
		return err
	})
	if err != nil {
		return err
	}
	if err := sent.compare(stored); err != nil {
		return fmt.Errorf("the copy differs: %w; nothing was kept", err)
	}
	return nil
}

// finish sets the counter row, and compares the ends of the log and of the audit log.
func (c *copier) finish(ctx context.Context) error {
	_, err := c.conn.Exec(ctx, `UPDATE streams SET commits = commits + 1, head = $1, pruned = $2, received = $3,
		(events, bytes) = (SELECT count(*), coalesce(sum(length(envelope) + length(payload)), 0) FROM events),
		decided = (SELECT count(*) FROM questions WHERE inbox = 'decided')`, c.state.Head, c.state.Pruned, c.state.Received)
	if err != nil {
		return fmt.Errorf("set the counters: %w", err)
	}
	stored, err := readCounters(ctx, c.conn)
	end := stored.Chain
	switch {
	case err != nil:
		return err
	case stored.Head != c.state.Head:
		return fmt.Errorf("the log ends at %d in place of %d; nothing was kept", stored.Head, c.state.Head)
	case end.N != c.state.ChainN || end.Hash != c.state.ChainHash:
		return fmt.Errorf("the audit log ends at entry %d in place of %d, or with another hash; nothing was kept", end.N, c.state.ChainN)
	}
	return nil
}

// copyColumn is a column to copy.
type copyColumn struct {
	name, kind string // kind is the type's name in PostgreSQL
	isUnique   bool   // part of a unique index
}

// copyTable is a table to copy.
type copyTable struct {
	name      string
	names     []string // of the columns
	columns   []copyColumn
	key       []string // of the primary key
	order     string   // the primary key, if it is one number: the rows are compared in its order; else empty
	identity  string   // the column whose numbers come from a sequence; empty: none
	mergeable int64    // number of rows with a name that may be in another row: see convert
}

const queryCopyColumns = `SELECT c.relname, a.attname, t.typname, a.atthasdef OR a.attidentity <> '' OR NOT a.attnotnull, a.attidentity <> '',
		EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey)),
		EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey)),
		EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = i.indkey[0] AND i.indnatts = 1)
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		JOIN pg_type t ON t.oid = a.atttypid
	WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
	ORDER BY c.relname <> 'hub', c.relname, a.attnum`

// planCopy lists the tables that the source has. The first one is hub: its row keeps a hub from starting.
func planCopy(ctx context.Context, conn *pgx.Conn, source store.CopySource) ([]copyTable, error) {
	var plan []copyTable
	var table string
	var c copyColumn
	var isOptional, isIdentity, isKey, isOnlyKey bool
	rows, _ := conn.Query(ctx, queryCopyColumns)
	_, err := pgx.ForEachRow(rows, []any{&table, &c.name, &c.kind, &isOptional, &isIdentity, &c.isUnique, &isKey, &isOnlyKey}, func() error {
		given := source.Columns(table)
		if given == nil {
			return nil
		}
		if len(plan) == 0 || plan[len(plan)-1].name != table {
			plan = append(plan, copyTable{name: table})
		}
		t := &plan[len(plan)-1]
		if isKey {
			t.key = append(t.key, c.name)
		}
		if !slices.Contains(given, c.name) {
			if isOptional {
				return nil
			}
			return fmt.Errorf("the file has nothing for the column %s of the table %s", c.name, table)
		}
		t.names, t.columns = append(t.names, c.name), append(t.columns, c)
		if isOnlyKey && c.kind == "int8" {
			t.order = c.name
		}
		if isIdentity {
			t.identity = c.name
		}
		return nil
	})
	return plan, err
}

// insertQuery returns a statement that inserts one row whose key may be taken. It returns whether
// the row is new, or no row.
func (t *copyTable) insertQuery() string {
	places := make([]string, len(t.columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	var added []string
	for _, column := range tables.SumColumns[t.name] {
		added = append(added, fmt.Sprintf(`%[1]s = t.%[1]s + excluded.%[1]s`, column))
	}
	if t.name == "tool_histograms" { // whose readers add the parts
		added = []string{`bins = concat_ws(';', nullif(t.bins, ''), nullif(excluded.bins, ''))`}
	}
	action := `ON CONFLICT DO NOTHING`
	if added != nil {
		action = `ON CONFLICT (` + strings.Join(t.key, ", ") + `) DO UPDATE SET ` + strings.Join(added, ", ")
	}
	return fmt.Sprintf(`INSERT INTO %s AS t (%s) VALUES (%s) %s RETURNING xmax = 0`,
		t.name, strings.Join(t.names, ", "), strings.Join(places, ", "), action)
}

// convert returns a row of the source with the values for the target. isMergeable is set if it has a name in a unique
// index that cleanText changes: another row may have that name.
func (t *copyTable) convert(values []any) (row []any, isMergeable bool, err error) {
	row = make([]any, len(values))
	for i, value := range values {
		column := &t.columns[i]
		if row[i], err = column.convert(value); err != nil {
			return nil, false, err
		}
		if text, ok := row[i].(string); ok && column.isUnique {
			isMergeable = isMergeable || text != value
		}
	}
	return row, isMergeable, nil
}

func (c *copyColumn) convert(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case int64:
		switch c.kind {
		case "int8", "int4", "int2":
			return v, nil
		case "bool":
			return v != 0, nil
		case "float8":
			return float64(v), nil
		}
	case float64:
		if c.kind == "float8" {
			return v, nil
		}
	case []byte:
		switch {
		case c.kind == "bytea":
			return tables.NonNil(v), nil // the driver reads empty bytes as nil, which would be NULL
		case c.kind == "uuid" && len(v) == 16:
			return [16]byte(v), nil
		}
	case string:
		if c.kind == "text" {
			return cleanText(v), nil
		}
	}
	return nil, fmt.Errorf("the column %s is %s, and the file has a %T", c.name, c.kind, value)
}

// rowsPerDigest is the number of rows of which one digest is computed.
const rowsPerDigest = 100_000

// rowDigest computes digests of the rows of a table.
type rowDigest struct {
	hash     hash.Hash
	buffer   []byte
	bytes    int64
	sums     [][sha256.Size]byte
	step     store.CopyProgress // with the number of rows
	progress func(store.CopyProgress)
}

func (c *copier) newDigest(step store.CopyProgress) *rowDigest {
	return &rowDigest{hash: sha256.New(), step: step, progress: c.progress}
}

// add adds a row. Numbers of any size are equal if their values are.
func (d *rowDigest) add(row []any) {
	d.buffer = d.buffer[:0]
	for _, value := range row {
		switch v := value.(type) {
		case string:
			d.buffer = append(binary.AppendUvarint(append(d.buffer, 'b'), uint64(len(v))), v...)
		case []byte:
			d.buffer = append(binary.AppendUvarint(append(d.buffer, 'b'), uint64(len(v))), v...)
		case nil:
			d.buffer = append(d.buffer, 'n')
		default:
			d.buffer = fmt.Append(append(d.buffer, 'v'), v, ";")
		}
	}
	_, _ = d.hash.Write(d.buffer)
	d.bytes += int64(len(d.buffer))
	if d.step.Rows++; d.step.Rows%rowsPerDigest == 0 {
		d.cut()
	}
	if d.step.Rows%1000 == 0 {
		d.progress(d.step)
	}
}

func (d *rowDigest) cut() {
	d.sums = append(d.sums, [sha256.Size]byte(d.hash.Sum(nil)))
	d.hash.Reset()
}

// compare fails if the digests differ.
func (d *rowDigest) compare(stored *rowDigest) error {
	d.cut()
	stored.cut()
	for i := range min(len(d.sums), len(stored.sums)) {
		if d.sums[i] != stored.sums[i] {
			return fmt.Errorf("rows %d to %d differ", i*rowsPerDigest+1, (i+1)*rowsPerDigest)
		}
	}
	if d.step.Rows != stored.step.Rows {
		return fmt.Errorf("%d rows were sent, and %d are stored", d.step.Rows, stored.step.Rows)
	}
	return nil
}
