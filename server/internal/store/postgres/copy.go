package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema/sign"
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

// unlimited turns the timeouts of a session off: statements take as long as there are rows.
const unlimited = `SELECT set_config(name, '0', false) FROM pg_settings
	WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

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
	if _, err := migrate(ctx, pool.ConnConfig, cfg.Log); err != nil {
		return err
	}
	if err := requireCompatible(ctx, c.conn); err != nil {
		return err
	}
	if _, err := c.conn.Exec(ctx, unlimited); err != nil {
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
	refused := fmt.Errorf("the schema %s is not empty; nothing was changed; choose an empty database, or an empty schema with search_path", *schema)
	if !hasHub {
		if relations > 0 {
			return false, refused
		}
		return false, nil
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
	if err := c.setCounters(ctx); err != nil {
		return fmt.Errorf("set the counters: %w", err)
	}
	if err := c.checkEnds(ctx); err != nil {
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
	sent, mergeable, err := c.send(ctx, t)
	merged := int64(0)
	if err == nil && mergeable > 0 {
		merged, err = c.merge(ctx, t)
	}
	if err == nil {
		err = c.setSequence(ctx, t)
	}
	if err == nil {
		_, err = c.conn.Exec(ctx, `ANALYZE `+t.name)
	}
	if err != nil {
		return err
	}
	rows := sent.rows + mergeable
	c.report.Rows, c.report.Bytes, c.report.Merged = c.report.Rows+rows, c.report.Bytes+sent.bytes, c.report.Merged+merged
	if t.order == "" || mergeable > 0 {
		return c.checkNumber(ctx, t, rows-merged)
	}
	return c.check(ctx, t, sent)
}

// send sends the rows of a table, and returns their digest and the number of the mergeable rows, which it does not send.
func (c *copier) send(ctx context.Context, t *copyTable) (sent *rowDigest, mergeable int64, err error) {
	next, stop := iter.Pull2(c.source.Rows(ctx, t.name, t.names(), t.order))
	defer stop()
	total := int64(0)
	if t.name == "events" {
		total = c.state.Events
	}
	sent = newRowDigest()
	_, err = c.conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.names(), pgx.CopyFromFunc(func() ([]any, error) {
		for {
			values, err, ok := next()
			if err != nil || !ok {
				return nil, err
			}
			row, isMergeable, err := t.convert(values)
			if err != nil {
				return nil, err
			}
			if isMergeable {
				mergeable++
				continue
			}
			sent.add(row)
			if sent.rows%1000 == 0 {
				c.progress(store.CopyProgress{Table: t.name, Rows: sent.rows, Total: total})
			}
			return row, nil
		}
	}))
	return sent, mergeable, err
}

// merge inserts the mergeable rows of a table, and returns the number of those that are in another row now.
func (c *copier) merge(ctx context.Context, t *copyTable) (merged int64, err error) {
	for values, err := range c.source.Rows(ctx, t.name, t.names(), t.order) {
		if err != nil {
			return 0, err
		}
		row, isMergeable, err := t.convert(values)
		if err != nil {
			return 0, err
		}
		if !isMergeable {
			continue
		}
		isNew := false
		if err := tables.IgnoreNoRows(c.conn.QueryRow(ctx, t.insertQuery(), row...).Scan(&isNew)); err != nil {
			return 0, err
		}
		if !isNew {
			merged++
		}
	}
	return merged, nil
}

// setSequence makes the sequence of an identity column continue after the copied rows.
func (c *copier) setSequence(ctx context.Context, t *copyTable) error {
	for _, column := range t.columns {
		if !column.isIdentity {
			continue
		}
		if _, err := c.conn.Exec(ctx, `SELECT setval(pg_get_serial_sequence($1, $2), last)
			FROM (SELECT max(`+column.name+`) AS last FROM `+t.name+`) AS m WHERE last IS NOT NULL`, t.name, column.name); err != nil {
			return err
		}
	}
	return nil
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
	stored := newRowDigest()
	rows, err := c.conn.Query(ctx, `SELECT `+strings.Join(t.names(), ", ")+` FROM `+t.name+` ORDER BY `+t.order)
	err = eachRow(rows, err, func(tables.Rows) error {
		row, err := rows.Values()
		stored.add(row)
		if stored.rows%1000 == 0 {
			c.progress(store.CopyProgress{Table: t.name, IsCheck: true, Rows: stored.rows, Total: sent.rows})
		}
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

// setCounters sets the counter row.
func (c *copier) setCounters(ctx context.Context) error {
	_, err := c.conn.Exec(ctx, `UPDATE streams SET commits = commits + 1, head = $1, pruned = $2, received = $3,
		(events, bytes) = (SELECT count(*), coalesce(sum(length(envelope) + length(payload)), 0) FROM events),
		decided = (SELECT count(*) FROM questions WHERE inbox = 'decided')`, c.state.Head, c.state.Pruned, c.state.Received)
	return err
}

// checkEnds compares the ends of the log and of the audit log.
func (c *copier) checkEnds(ctx context.Context) error {
	stored, err := scanCounters(c.conn.QueryRow(ctx, queryCounters, sign.FirstPrev))
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
