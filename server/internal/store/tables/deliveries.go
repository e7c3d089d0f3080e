package tables

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (t *Tables) LeaseDeliveries(ctx context.Context, now, until time.Time, n int) (leased []schema.EventID, next time.Time, err error) {
	if next, err = t.nextDelivery(ctx); err != nil || next.IsZero() || next.After(now) {
		return nil, next, err // nothing to lease: spare the writer
	}
	leased, err = write(ctx, t, Essential, func(w *Work) []schema.EventID { return w.leaseDeliveries(now, until, n) })
	if err != nil {
		return nil, time.Time{}, err
	}
	next, err = t.nextDelivery(ctx)
	return leased, next, err
}

func (t *Tables) nextDelivery(ctx context.Context) (time.Time, error) {
	return t.readTime(ctx, QueryNextDelivery, t.Place().Machine)
}

// The statements about deliveries. A hub leases no delivery to a loopback address of another machine before its
// end, and attempts the deliveries whose owner it is.
const (
	QueryNextDelivery = `SELECT min(/*!wake*//*[*/CASE WHEN machine IN ('', $1) THEN wake ELSE greatest(until, wake) END/*]*/)
		FROM deliveries /*!INDEXED BY deliveries_undelivered*/
		WHERE /*!undelivered AND*/ open/*[*/ AND (machine IN ('', $1) OR until > 0)/*]*/`
	QueryDueDeliveries = `SELECT seq, wake FROM deliveries /*!INDEXED BY deliveries_undelivered*/ WHERE /*!undelivered AND*/ open AND wake <= $1
		/*[*/ AND (machine IN ('', $2) OR until BETWEEN 1 AND $1) ORDER BY wake, seq LIMIT $3/*]*/`
	leaseDeliveries = `UPDATE deliveries SET leased = $1, wake = greatest(due, $1)/*[*/, owner = $3/*]*/ WHERE seq = ANY($2)`
	upsertDelivery  = `INSERT INTO deliveries (seq, answer_id, state, attempts, sent, due, until, leased, handled, wake, open, undelivered
			/*[*/, owner, machine/*]*/)
		SELECT $1, $2, $3, $4, $5, $6::bigint, $7, lease, $8, greatest($6::bigint, lease), $9, $10
			/*[*/, CASE WHEN lease > 0 THEN $12 ELSE '' END, machine/*]*/
		FROM (SELECT machine, CASE WHEN machine IN ('', $13) THEN $11::bigint ELSE 0 END AS lease FROM questions WHERE seq = $1) q WHERE true
		ON CONFLICT (seq) DO UPDATE SET answer_id = excluded.answer_id, state = excluded.state, attempts = excluded.attempts,
			sent = excluded.sent, due = excluded.due, until = excluded.until, leased = excluded.leased, handled = excluded.handled, wake = excluded.wake,
			open = excluded.open, undelivered = excluded.undelivered/*[*/, owner = excluded.owner, machine = excluded.machine/*]*/`
)

// leaseDeliveries leases up to n deliveries that are due, the earliest first.
func (w *Work) leaseDeliveries(now, until time.Time, n int) []schema.EventID {
	type dueDelivery struct {
		id   schema.EventID
		wake int64
	}
	due := collectIn(w, func(d *dueDelivery) []any { return []any{&d.id, &d.wake} },
		QueryDueDeliveries, Millis(now), w.t.Place().Machine, n)
	if len(due) == 0 {
		return nil
	}
	slices.SortStableFunc(due, func(a, b dueDelivery) int { return cmp.Compare(a.wake, b.wake) })
	ids := make([]schema.EventID, min(n, len(due)))
	for i := range ids {
		ids[i] = due[i].id
	}
	w.do(leaseDeliveries, Millis(until), slices.Clone(ids), w.t.Place().Owner)
	return ids
}

// upsertDelivery stores the delivery of an answer. A hub can't keep the lease of a delivery to a loopback address
// of another machine.
func (w *Work) upsertDelivery(id schema.EventID, d *store.Delivery) {
	place := w.t.Place()
	w.do(upsertDelivery, id, d.AnswerID, d.State, d.Attempts, d.Sent, Millis(d.Due), Millis(d.Until), Millis(d.Handled),
		d.IsOpen(), d.IsUndelivered(), Millis(d.Leased), place.Owner, place.Machine)
}

// placeOf returns the place of a question with an address that is stored at this hub.
func (t *Tables) placeOf(address string) store.Place {
	p := t.Place()
	if p.Machine == "" {
		return p
	}
	if u, err := url.Parse(address); err != nil || !socket.IsLoopback(u.Hostname()) {
		p.Machine = "" // it does not mean a process of the hub's own machine
	}
	return p
}

// own completes the place of a question that was read: the only hub owns all of them.
func (t *Tables) own(p *store.Place) {
	if t.Place().Owner == "" {
		p.Owner = t.Member()
	}
}

func (t *Tables) DueQuestions(ctx context.Context, now time.Time, n int) (due []schema.EventID, next time.Time, err error) {
	for _, timeOf := range []func(*pendingQuestion) int64{
		func(q *pendingQuestion) int64 { return q.HeldUntil },
		func(q *pendingQuestion) int64 { return q.Deadline },
		func(q *pendingQuestion) int64 { return q.TimerAt },
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
	return t.State.Pending.IDs(func(_ schema.EventID, q *pendingQuestion) bool { return q.HeldUntil > 0 }), ctx.Err()
}

func (t *Tables) PendingInSession(ctx context.Context, app, session string) ([]schema.EventID, error) {
	return t.State.Pending.InSession(store.SessionKey{App: app, Session: session}), ctx.Err()
}

func (t *Tables) Lifelines(ctx context.Context, of store.Lifeline, after schema.EventID) ([]schema.EventID, error) {
	return t.State.Pending.IDs(func(id schema.EventID, q *pendingQuestion) bool {
		return q.Lifeline == of && of != store.NoLifeline && id > after
	}), ctx.Err()
}

func (t *Tables) Listeners(ctx context.Context, after schema.EventID, limit int) ([]store.Listener, error) {
	list, err := collect(ctx, t, func(l *store.Listener) []any { return []any{&l.ID, &l.URL, &l.Status, &l.Owner, &l.Machine} },
		`SELECT seq, url, status, owner, machine FROM questions /*! INDEXED BY questions_by_inbox */
		WHERE inbox = 'pending' AND seq > $1 AND protocol >= 2 AND url <> '' ORDER BY seq LIMIT $2`, after, limit)
	for i := range list {
		t.own(&list[i].Place)
	}
	return list, err
}

func (t *Tables) Orphans(ctx context.Context, of store.Lifeline, alive []string) ([]schema.EventID, error) {
	owners := append([]string{}, alive...)
	if slices.Contains(alive, t.Member()) {
		owners = append(owners, t.Place().Owner)
	}
	return collect(ctx, t, column[schema.EventID], `SELECT seq FROM questions /*!INDEXED BY questions_by_inbox*/
		WHERE inbox = 'pending' AND lifeline = $1 AND owner <> ALL($2) ORDER BY seq`, of, owners)
}
