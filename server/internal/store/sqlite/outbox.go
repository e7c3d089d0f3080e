package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// deliveryRow is a scanned delivery; all columns are NULL if there is none.
type deliveryRow struct {
	answer, state               sql.NullString
	attempts                    sql.NullInt64
	sent                        sql.NullBool
	due, until, leased, handled sql.NullInt64
}

func (r *deliveryRow) dest() []any {
	return []any{&r.answer, &r.state, &r.attempts, &r.sent, &r.due, &r.until, &r.leased, &r.handled}
}

func (r *deliveryRow) toDelivery(id schema.EventID) *store.Delivery {
	if !r.answer.Valid {
		return nil
	}
	return &store.Delivery{
		ID: id, AnswerID: r.answer.String, State: schema.DeliveryState(r.state.String), Attempts: int(r.attempts.Int64),
		Sent: r.sent.Bool, Due: fromMillis(r.due.Int64), Until: fromMillis(r.until.Int64), Leased: fromMillis(r.leased.Int64),
		Handled: fromMillis(r.handled.Int64),
	}
}

func (t *tx) upsertDelivery(id schema.EventID, d *store.Delivery) error {
	due, leased := toMillis(d.Due), toMillis(d.Leased)
	_, err := t.exec(`INSERT INTO deliveries (stream_id, seq, answer_id, state, attempts, sent, due, until, leased, handled, wake, open, undelivered)
		VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (stream_id, seq) DO UPDATE SET answer_id = excluded.answer_id, state = excluded.state, attempts = excluded.attempts,
			sent = excluded.sent, due = excluded.due, until = excluded.until, leased = excluded.leased, handled = excluded.handled, wake = excluded.wake,
			open = excluded.open, undelivered = excluded.undelivered`,
		id, d.AnswerID, d.State, d.Attempts, d.Sent, due, toMillis(d.Until), leased, toMillis(d.Handled), max(due, leased), d.IsOpen(), d.IsUndelivered())
	return err
}

const (
	queryNextDelivery  = `SELECT min(wake) FROM deliveries WHERE stream_id = 1 AND open = 1`
	queryDueDeliveries = `SELECT seq FROM deliveries WHERE stream_id = 1 AND open = 1 AND wake <= ? ORDER BY wake LIMIT ?`
	queryNextDeadline  = `SELECT deadline FROM questions INDEXED BY questions_by_deadline
		WHERE stream_id = 1 AND state = 'pending' AND deadline > 0 AND deadline > ? ORDER BY deadline LIMIT 1`
	queryDueDeadlines = `SELECT seq FROM questions INDEXED BY questions_by_deadline
		WHERE stream_id = 1 AND state = 'pending' AND deadline > 0 AND deadline <= ? ORDER BY deadline LIMIT ?`
	queryNextUndoEnd = `SELECT held_until FROM questions INDEXED BY questions_by_hold
		WHERE stream_id = 1 AND state = 'pending' AND held_until > 0 AND held_until > ? ORDER BY held_until LIMIT 1`
	queryOpenUndoWindows = `SELECT seq FROM questions INDEXED BY questions_by_hold
		WHERE stream_id = 1 AND state = 'pending' AND held_until > 0 ORDER BY held_until`
	queryEndedUndoWindows = `SELECT seq FROM questions INDEXED BY questions_by_hold
		WHERE stream_id = 1 AND state = 'pending' AND held_until > 0 AND held_until <= ? ORDER BY held_until LIMIT ?`
	queryNextTimer = `SELECT next_at FROM questions INDEXED BY questions_by_next
		WHERE stream_id = 1 AND state = 'pending' AND next_at > 0 AND next_at > ? ORDER BY next_at LIMIT 1`
	queryDueTimers = `SELECT seq FROM questions INDEXED BY questions_by_next
		WHERE stream_id = 1 AND state = 'pending' AND next_at > 0 AND next_at <= ? ORDER BY next_at LIMIT ?`
	queryListeners = `SELECT seq, url, status FROM questions INDEXED BY questions_by_state
		WHERE stream_id = 1 AND state = 'pending' AND seq > ? AND protocol >= 2 AND url <> '' ORDER BY seq LIMIT ?`
	queryLifelines = `SELECT seq FROM questions INDEXED BY questions_by_lifeline
		WHERE stream_id = 1 AND state = 'pending' AND lifeline > 0 AND lifeline = ? AND seq > ? ORDER BY seq LIMIT ?`
	queryPendingOf = `SELECT seq FROM questions WHERE stream_id = 1 AND state = 'pending' AND session = ? AND app = ? ORDER BY seq`
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
	rows, err := t.query(queryDueDeliveries, toMillis(now), n)
	ids, err := scanIDs(rows, err)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, err := t.exec(`UPDATE deliveries SET leased = ?1, wake = max(due, ?1) WHERE stream_id = 1 AND seq = ?2`, toMillis(until), id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (s *engine) DueQuestions(ctx context.Context, now time.Time, n int) (due []schema.EventID, next time.Time, err error) {
	for _, of := range []struct{ due, next string }{{queryEndedUndoWindows, queryNextUndoEnd}, {queryDueDeadlines, queryNextDeadline}, {queryDueTimers, queryNextTimer}} {
		rows, err := s.readers.query(ctx, of.due, toMillis(now), n)
		ids, err := scanIDs(rows, err)
		if err != nil {
			return nil, time.Time{}, err
		}
		due = append(due, ids...)
		at, err := s.readTime(ctx, of.next, toMillis(now))
		if err != nil {
			return nil, time.Time{}, err
		}
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return due, next, nil
}

func (s *engine) OpenUndoWindows(ctx context.Context) ([]schema.EventID, error) {
	rows, err := s.readers.query(ctx, queryOpenUndoWindows)
	return scanIDs(rows, err)
}

func (s *engine) PendingInSession(ctx context.Context, app, session string) ([]schema.EventID, error) {
	appID, ok, err := s.findNameID(ctx, appName, app)
	if err != nil || !ok {
		return nil, err
	}
	sessionID, ok, err := s.findNameID(ctx, sessionName, session)
	if err != nil || !ok {
		return nil, err
	}
	rows, err := s.readers.query(ctx, queryPendingOf, sessionID, appID)
	return scanIDs(rows, err)
}

func (s *engine) Listeners(ctx context.Context, after schema.EventID, limit int) ([]store.Listener, error) {
	rows, err := s.readers.query(ctx, queryListeners, after, limit)
	return collect(rows, err, func(rows *sql.Rows, l *store.Listener) error { return rows.Scan(&l.ID, &l.URL, &l.Status) })
}

func (s *engine) Lifelines(ctx context.Context, of store.Lifeline, after schema.EventID, limit int) ([]schema.EventID, error) {
	rows, err := s.readers.query(ctx, queryLifelines, of, after, limit)
	return scanIDs(rows, err)
}

// readTime reads one time; zero if there is no row or it is NULL.
func (s *engine) readTime(ctx context.Context, query string, args ...any) (time.Time, error) {
	var ms sql.NullInt64
	err := s.readers.get(ctx, []any{&ms}, query, args...)
	return fromMillis(ms.Int64), ignoreNoRows(err)
}
