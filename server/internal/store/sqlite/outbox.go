package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// UpsertDelivery implements tables.Tx.
func (t *tx) UpsertDelivery(id schema.EventID, d *store.Delivery) error {
	due, leased := kit.Millis(d.Due), kit.Millis(d.Leased)
	_, err := t.exec(`INSERT INTO deliveries (seq, answer_id, state, attempts, sent, due, until, leased, handled, wake, open, undelivered)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (seq) DO UPDATE SET answer_id = excluded.answer_id, state = excluded.state, attempts = excluded.attempts,
			sent = excluded.sent, due = excluded.due, until = excluded.until, leased = excluded.leased, handled = excluded.handled, wake = excluded.wake,
			open = excluded.open, undelivered = excluded.undelivered`,
		id, d.AnswerID, d.State, d.Attempts, d.Sent, due, kit.Millis(d.Until), leased,
		kit.Millis(d.Handled), max(due, leased), d.IsOpen(), d.IsUndelivered())
	return err
}

const (
	queryNextDelivery  = `SELECT min(wake) FROM deliveries INDEXED BY deliveries_undelivered WHERE undelivered AND open`
	queryDueDeliveries = `SELECT seq, wake FROM deliveries INDEXED BY deliveries_undelivered WHERE undelivered AND open AND wake <= ?`
	queryListeners     = `SELECT seq, url, status FROM questions INDEXED BY questions_by_inbox
		WHERE inbox = 'pending' AND seq > ? AND protocol >= 2 AND url <> '' ORDER BY seq LIMIT ?`
)

func (s *engine) LeaseDeliveries(ctx context.Context, now, until time.Time, n int) (leased []schema.EventID, next time.Time, err error) {
	if next, err = s.readTime(ctx, queryNextDelivery); err != nil || next.IsZero() || next.After(now) {
		return nil, next, err // nothing to lease: spare the writer
	}
	err = s.writer.do(ctx, &op{essential: true, needsSavepoint: true, run: func(t *tx) (err error) {
		leased, err = t.leaseDeliveries(now, until, n)
		return err
	}})
	if err != nil {
		return nil, time.Time{}, err
	}
	next, err = s.readTime(ctx, queryNextDelivery)
	return leased, next, err
}

func (t *tx) leaseDeliveries(now, until time.Time, n int) ([]schema.EventID, error) {
	type dueDelivery struct {
		id   schema.EventID
		wake int64
	}
	rows, err := t.query(queryDueDeliveries, kit.Millis(now))
	due, err := collect(rows, err, func(rows *sql.Rows, d *dueDelivery) error { return rows.Scan(&d.id, &d.wake) })
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(due, func(a, b dueDelivery) int { return cmp.Compare(a.wake, b.wake) })
	var ids []schema.EventID
	for _, d := range due[:min(n, len(due))] {
		ids = append(ids, d.id)
	}
	for _, id := range ids {
		if _, err := t.exec(`UPDATE deliveries SET leased = ?1, wake = max(due, ?1) WHERE seq = ?2`, kit.Millis(until), id); err != nil {
			return nil, err
		}
	}
	return ids, nil
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
	return collect(rows, err, func(rows *sql.Rows, l *store.Listener) error {
		l.Owner = s.Self()
		return rows.Scan(&l.ID, &l.URL, &l.Status)
	})
}

func (s *engine) Lifelines(ctx context.Context, of store.Lifeline, after schema.EventID, limit int) ([]schema.EventID, error) {
	ids := s.State.Pending.IDs(func(id schema.EventID, q *kit.PendingQuestion[string]) bool {
		return q.Lifeline == of && of != store.NoLifeline && id > after
	})
	return ids[:min(limit, len(ids))], ctx.Err()
}

func (s *engine) Orphans(
	ctx context.Context, of store.Lifeline, alive []string, after schema.EventID, limit int,
) ([]schema.EventID, error) {
	if slices.Contains(alive, s.Self()) { // the only hub, which owns all
		return nil, ctx.Err()
	}
	return s.Lifelines(ctx, of, after, limit)
}

// readTime reads one time; zero if there is no row or it is NULL.
func (s *engine) readTime(ctx context.Context, query string, args ...any) (time.Time, error) {
	var ms sql.NullInt64
	err := s.readers.getByKey(ctx, []any{&ms}, query, args...)
	return kit.Time(ms.Int64), ignoreNoRows(err)
}
