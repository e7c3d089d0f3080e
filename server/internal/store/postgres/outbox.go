package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// UpsertDelivery implements tables.Tx.
func (t *tx) UpsertDelivery(id schema.EventID, d *store.Delivery) error {
	// A hub can't keep the lease of a delivery to a loopback address of another machine.
	err := t.exec(`INSERT INTO deliveries (seq, answer_id, state, attempts, sent, due, until, leased, handled, wake, open, undelivered, owner, machine)
		SELECT $1, $2, $3, $4, $5, $6::bigint, $7, lease, $8, greatest($6::bigint, lease), $9, $10, CASE WHEN lease > 0 THEN $12 ELSE '' END, machine
		FROM (SELECT machine, CASE WHEN machine IN ('', $13) THEN $11::bigint ELSE 0 END AS lease FROM questions WHERE seq = $1) q
		ON CONFLICT (seq) DO UPDATE SET answer_id = excluded.answer_id, state = excluded.state, attempts = excluded.attempts,
			sent = excluded.sent, due = excluded.due, until = excluded.until, leased = excluded.leased, handled = excluded.handled, wake = excluded.wake,
			open = excluded.open, undelivered = excluded.undelivered, owner = excluded.owner, machine = excluded.machine`,
		id, d.AnswerID, d.State, d.Attempts, d.Sent, kit.Millis(d.Due),
		kit.Millis(d.Until), kit.Millis(d.Handled), d.IsOpen(), d.IsUndelivered(),
		kit.Millis(d.Leased), t.w.store.Self(), t.w.store.members.self.Machine)
	return err
}

const (
	queryNextDelivery = `SELECT least((SELECT min(wake) FROM deliveries WHERE open AND machine IN ('', $1)),
		(SELECT min(greatest(until, wake)) FROM deliveries WHERE open AND machine <> '' AND until > 0))`
	queryDueDeliveries = `SELECT seq FROM deliveries WHERE open AND wake <= $1 AND (machine IN ('', $3) OR until BETWEEN 1 AND $1) ORDER BY wake, seq LIMIT $2`
	queryListeners     = `SELECT seq, url, status, owner, machine FROM questions
		WHERE inbox = 'pending' AND seq > $1 AND protocol >= 2 AND url <> '' ORDER BY seq LIMIT $2`
)

func (s *engine) LeaseDeliveries(ctx context.Context, now, until time.Time, n int) (leased []schema.EventID, next time.Time, err error) {
	if next, err = s.readTime(ctx, queryNextDelivery, s.members.self.Machine); err != nil || next.IsZero() || next.After(now) {
		return nil, next, err // nothing to lease: spare the writer
	}
	err = s.writer.do(ctx, &op{run: func(t *tx) (err error) {
		leased, err = t.leaseDeliveries(now, until, n)
		return err
	}})
	if err != nil {
		return nil, time.Time{}, err
	}
	next, err = s.readTime(ctx, queryNextDelivery, s.members.self.Machine)
	return leased, next, err
}

func (t *tx) leaseDeliveries(now, until time.Time, n int) ([]schema.EventID, error) {
	rows, err := t.query(queryDueDeliveries, kit.Millis(now), n, t.w.store.members.self.Machine)
	ids, err := scanIDs(rows, err)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids, t.exec(`UPDATE deliveries SET leased = $1, wake = greatest(due, $1), owner = $2 WHERE seq = ANY($3)`, kit.Millis(until), t.w.store.Self(), idList(ids))
}

// idList returns ids as an array parameter.
func idList(ids []schema.EventID) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}

func (s *engine) DueQuestions(ctx context.Context, now time.Time, n int) (due []schema.EventID, next time.Time, err error) {
	for _, timeOf := range []func(*kit.PendingQuestion[string]) int64{
		func(q *kit.PendingQuestion[string]) int64 { return q.HeldUntil },
		func(q *kit.PendingQuestion[string]) int64 { return q.Deadline },
		func(q *kit.PendingQuestion[string]) int64 { return q.TimerAt },
	} {
		found, at := s.State.Pending.Due(now, n, timeOf)
		due = append(due, found...)
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return due, next, ctx.Err()
}

func (s *engine) OpenUndoWindows(ctx context.Context) ([]schema.EventID, error) {
	return s.State.Pending.IDs(func(_ schema.EventID, q *kit.PendingQuestion[string]) bool { return q.HeldUntil > 0 }), ctx.Err()
}

func (s *engine) PendingInSession(ctx context.Context, app, session string) ([]schema.EventID, error) {
	return s.State.Pending.IDs(func(_ schema.EventID, q *kit.PendingQuestion[string]) bool {
		return q.Session == session && q.App == app
	}), ctx.Err()
}

func (s *engine) Listeners(ctx context.Context, after schema.EventID, limit int) ([]store.Listener, error) {
	rows, err := s.readers.query(ctx, queryListeners, after, limit)
	return collect(rows, err, func(rows pgx.Rows, l *store.Listener) error {
		return rows.Scan(&l.ID, &l.URL, &l.Status, &l.Owner, &l.Machine)
	})
}

func (s *engine) Lifelines(ctx context.Context, of store.Lifeline, after schema.EventID, limit int) ([]schema.EventID, error) {
	ids := s.State.Pending.IDs(func(id schema.EventID, q *kit.PendingQuestion[string]) bool {
		return q.Lifeline == of && of != store.NoLifeline && id > after
	})
	return ids[:min(limit, len(ids))], ctx.Err()
}

const queryOrphans = `SELECT seq FROM questions WHERE inbox = 'pending' AND lifeline = $1 AND owner <> ALL (coalesce($2::text[], '{}')) AND seq > $3 ORDER BY seq LIMIT $4`

func (s *engine) Orphans(
	ctx context.Context, of store.Lifeline, alive []string, after schema.EventID, limit int,
) ([]schema.EventID, error) {
	rows, err := s.readers.query(ctx, queryOrphans, of, alive, after, limit)
	return scanIDs(rows, err)
}

// machineOf returns Place.Machine of a question with the address that is stored at this hub.
func (s *engine) machineOf(address string) string {
	if !kit.IsLoopbackURL(address) {
		return ""
	}
	return s.members.self.Machine
}

// readTime reads one time; zero if there is no row or it is NULL.
func (s *engine) readTime(ctx context.Context, query string, args ...any) (time.Time, error) {
	var ms sql.NullInt64
	err := s.readers.get(ctx, []any{&ms}, query, args...)
	return kit.Time(ms.Int64), ignoreNoRows(err)
}
