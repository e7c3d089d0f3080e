package tables

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (t *Tables) LeaseDeliveries(ctx context.Context, now, until time.Time, n int) (leased []schema.EventID, next time.Time, err error) {
	if next, err = t.nextDelivery(ctx); err != nil || next.IsZero() || next.After(now) {
		return nil, next, err // nothing to lease: spare the writer
	}
	err = t.Write(ctx, Essential, func(w *Work) (err error) {
		leased, err = w.LeaseDeliveries(now, until, n)
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	next, err = t.nextDelivery(ctx)
	return leased, next, err
}

func (t *Tables) nextDelivery(ctx context.Context) (time.Time, error) {
	query, args := t.NextDelivery()
	return t.readTime(ctx, query, args...)
}

func (t *Tables) DueQuestions(ctx context.Context, now time.Time, n int) (due []schema.EventID, next time.Time, err error) {
	for _, timeOf := range []func(*PendingQuestion[string]) int64{
		func(q *PendingQuestion[string]) int64 { return q.HeldUntil },
		func(q *PendingQuestion[string]) int64 { return q.Deadline },
		func(q *PendingQuestion[string]) int64 { return q.TimerAt },
	} {
		found, at := t.State.Pending.Due(now, n, timeOf)
		due = append(due, found...)
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return due, next, ctx.Err()
}

func (t *Tables) OpenUndoWindows(ctx context.Context) ([]schema.EventID, error) {
	return t.State.Pending.IDs(func(_ schema.EventID, q *PendingQuestion[string]) bool { return q.HeldUntil > 0 }), ctx.Err()
}

func (t *Tables) PendingInSession(ctx context.Context, app, session string) ([]schema.EventID, error) {
	return t.State.Pending.IDs(func(_ schema.EventID, q *PendingQuestion[string]) bool {
		return q.Session == session && q.App == app
	}), ctx.Err()
}

func (t *Tables) Lifelines(ctx context.Context, of store.Lifeline, after schema.EventID, limit int) ([]schema.EventID, error) {
	ids := t.State.Pending.IDs(func(id schema.EventID, q *PendingQuestion[string]) bool {
		return q.Lifeline == of && of != store.NoLifeline && id > after
	})
	return ids[:min(limit, len(ids))], ctx.Err()
}

func (t *Tables) Listeners(ctx context.Context, after schema.EventID, limit int) ([]store.Listener, error) {
	return collect(ctx, t, func(l *store.Listener) []any { return []any{&l.ID, &l.URL, &l.Status, &l.Owner, &l.Machine} },
		`SELECT seq, url, status, owner, machine FROM questions /*! INDEXED BY questions_by_inbox */
		WHERE inbox = 'pending' AND seq > $1 AND protocol >= 2 AND url <> '' ORDER BY seq LIMIT $2`, after, limit)
}
