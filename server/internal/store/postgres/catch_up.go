package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// The state in memory is that of one commit: the last one by this hub, or a later one that it has
// caught up with. A transaction is valid only if no other hub has committed since.

const queryCounters = `SELECT s.commits, s.mark, s.state, s.policy, s.head, s.pruned, s.events, s.bytes, s.received, s.decided,
		coalesce(l.n, 0), coalesce(l.hash, $1), coalesce((SELECT max(n) FROM ledger_heads), 0)
	FROM streams s LEFT JOIN (SELECT n, hash FROM ledger ORDER BY n DESC LIMIT 1) l ON true`

func scanCounters(row pgx.Row) (c counters, err error) {
	err = row.Scan(&c.commits, &c.mark, &c.state, &c.policy, &c.Head, &c.Pruned, &c.Events, &c.Bytes, &c.Received, &c.Decided,
		&c.Chain.N, &c.Chain.Hash, &c.Chain.Signed)
	return c, err
}

// lockCounters begins a transaction that no other hub can commit before, and catches up with the others.
func (w *writer) lockCounters() error {
	return w.beginAndCatchUp(`BEGIN`, `SELECT FROM streams FOR UPDATE`)
}

// refresh catches up with the other hubs.
func (w *writer) refresh() error {
	err := w.beginAndCatchUp(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	if err == nil {
		err = w.end(`COMMIT`)
	}
	return err
}

// beginAndCatchUp begins a transaction with the statements and reads in it the changes of other hubs.
func (w *writer) beginAndCatchUp(begin ...string) error {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	batch := &pgx.Batch{}
	for _, statement := range begin {
		batch.Queue(statement)
	}
	known := w.counters.Head
	batch.Queue(queryCounters, sign.FirstPrev)
	batch.Queue(queryChangedQuestions, known, known+maxCaughtUp)
	results := w.conn.SendBatch(ctx, batch)
	var c counters
	var changed []tables.PendingUpdate
	var err error
	for range begin {
		if err == nil {
			_, err = results.Exec()
		}
	}
	if err == nil {
		c, err = scanCounters(results.QueryRow())
	}
	if err == nil {
		changed, err = w.store.ReadPending(ctx, func(each func(tables.Rows) error, _ string, _ ...any) error {
			rows, err := results.Query()
			return eachRow(rows, err, each)
		}, "")
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err == nil && c.commits != w.counters.commits {
		err = w.catchUp(ctx, &c, changed)
	}
	if err != nil {
		w.rollback()
	}
	return w.markLost(err)
}

// end ends the open transaction.
func (w *writer) end(statement string) error {
	ctx, cancel := exchangeTimeout()
	defer cancel()
	_, err := w.conn.Exec(ctx, statement)
	return w.markLost(err)
}

// rollback ends a transaction that failed.
func (w *writer) rollback() {
	if w.conn == nil || w.conn.IsClosed() {
		return
	}
	if w.end(`ROLLBACK`) != nil {
		ctx, cancel := exchangeTimeout()
		defer cancel()
		_ = w.conn.Close(ctx) // the next write connects again
	}
}

// maxCaughtUp is the number of rows of the log above which all pending questions are read again.
const maxCaughtUp = 10_000

// catchUp brings the state in memory to that of the counters, in the open transaction. changed are the
// questions that the first maxCaughtUp new rows of the log are about.
func (w *writer) catchUp(ctx context.Context, c *counters, changed []tables.PendingUpdate) error {
	before, s := &w.counters, w.store
	if c.Head-before.Head > maxCaughtUp {
		if err := s.LoadPending(ctx, w.read(ctx)); err != nil {
			return err
		}
	} else {
		s.State.Pending.Commit(changed)
	}
	if c.state != before.state {
		if err := s.Load(w.read(ctx), s.clock()); err != nil {
			return err
		}
		w.segmentNames.Clear() // retention may have removed names
	}
	if c.Pruned != before.Pruned {
		w.segmentNames.Clear()
	}
	changesPolicy := c.policy != before.policy
	w.counters = *c
	s.setCounters(c)
	if changesPolicy {
		s.policy.changedTo(c.policy)
	}
	s.follower.wake()
	return nil
}

const queryChangedQuestions = `SELECT ` + tables.PendingColumns + ` FROM questions
	WHERE seq IN (SELECT seq FROM questions WHERE seq > $1 AND seq <= $2 UNION SELECT question FROM changes WHERE seq > $1 AND seq <= $2) ORDER BY seq`

// setCounters shows the counters to readers.
func (s *engine) setCounters(c *counters) {
	s.commits.Store(c.commits)
	s.Show(&c.Counters)
}
