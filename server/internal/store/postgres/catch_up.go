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
	err = row.Scan(&c.commits, &c.mark, &c.state, &c.policy, &c.head, &c.pruned, &c.events, &c.bytes, &c.received, &c.decided,
		&c.chain.N, &c.chain.Hash, &c.chain.Signed)
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
	known := w.counters.head
	batch.Queue(queryCounters, sign.FirstPrev)
	batch.Queue(queryChangedQuestions, known, known+maxCaughtUp)
	results := w.conn.SendBatch(ctx, batch)
	var c counters
	var changed []tables.PendingUpdate[string]
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
		changed, err = scanPendingUpdates(results.Query())
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
func (w *writer) catchUp(ctx context.Context, c *counters, changed []tables.PendingUpdate[string]) error {
	before, s := &w.counters, w.store
	if c.head-before.head > maxCaughtUp {
		if err := s.loadPending(ctx, w); err != nil {
			return err
		}
	} else {
		s.State.Pending.Commit(changed)
	}
	if c.state != before.state {
		if err := s.Load(w.read(ctx), s.clock()); err != nil {
			return err
		}
		w.segmentNames.clear() // retention may have removed names
	}
	if c.pruned != before.pruned {
		w.segmentNames.clear()
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

const (
	pendingColumns = `app, session, deadline, held_until, next_at, lifeline, status, addressed, same, same_as, joined`

	queryPendingQuestions = `SELECT seq, true, ` + pendingColumns + ` FROM questions WHERE inbox = 'pending' ORDER BY seq`

	queryChangedQuestions = `SELECT seq, inbox = 'pending', ` + pendingColumns + ` FROM questions
		WHERE seq IN (SELECT seq FROM questions WHERE seq > $1 AND seq <= $2 UNION SELECT question FROM changes WHERE seq > $1 AND seq <= $2) ORDER BY seq`
)

func scanPendingUpdates(rows pgx.Rows, err error) ([]tables.PendingUpdate[string], error) {
	return collect(rows, err, func(rows pgx.Rows, u *tables.PendingUpdate[string]) error {
		q := &u.Row
		var isPending bool
		var status, same []byte
		if err := rows.Scan(&u.ID, &isPending, &q.App, &q.Session, &q.Deadline, &q.HeldUntil, &q.TimerAt,
			&q.Lifeline, &status, &q.IsAddressed, &same, &q.SameAs, &q.Joined); err != nil {
			return err
		}
		q.Same, u.Ended = string(same), !isPending
		var err error
		q.Waiter, err = tables.WaiterOf(status)
		return err
	})
}

// loadPending reads the pending questions.
func (s *engine) loadPending(ctx context.Context, w *writer) error {
	rows, err := w.conn.Query(ctx, queryPendingQuestions)
	stored, err := scanPendingUpdates(rows, err)
	if err == nil {
		s.State.Pending.Load(stored)
	}
	return err
}

// setCounters shows the counters to readers.
func (s *engine) setCounters(c *counters) {
	s.commits.Store(c.commits)
	s.State.Head.Store(c.head)
	s.State.Events.Store(c.events)
	s.bytes.Store(c.bytes)
	s.State.Decided.Store(c.decided)
	s.State.Pruned.Store(c.pruned)
}
