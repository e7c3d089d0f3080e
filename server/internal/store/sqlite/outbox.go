package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
)

// UpsertDelivery implements tables.Tx.
func (t *tx) UpsertDelivery(id schema.EventID, d *store.Delivery) error {
	due, leased := tables.Millis(d.Due), tables.Millis(d.Leased)
	_, err := t.exec(`INSERT INTO deliveries (seq, answer_id, state, attempts, sent, due, until, leased, handled, wake, open, undelivered)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (seq) DO UPDATE SET answer_id = excluded.answer_id, state = excluded.state, attempts = excluded.attempts,
			sent = excluded.sent, due = excluded.due, until = excluded.until, leased = excluded.leased, handled = excluded.handled, wake = excluded.wake,
			open = excluded.open, undelivered = excluded.undelivered`,
		id, d.AnswerID, d.State, d.Attempts, d.Sent, due, tables.Millis(d.Until), leased,
		tables.Millis(d.Handled), max(due, leased), d.IsOpen(), d.IsUndelivered())
	return err
}

const (
	queryNextDelivery  = `SELECT min(wake) FROM deliveries INDEXED BY deliveries_undelivered WHERE undelivered AND open`
	queryDueDeliveries = `SELECT seq, wake FROM deliveries INDEXED BY deliveries_undelivered WHERE undelivered AND open AND wake <= ?`
)

// NextDelivery implements tables.Engine.
func (tableEngine) NextDelivery() (string, []any) { return queryNextDelivery, nil }

// LeaseDeliveries implements tables.Tx.
func (t *tx) LeaseDeliveries(now, until time.Time, n int) ([]schema.EventID, error) {
	type dueDelivery struct {
		id   schema.EventID
		wake int64
	}
	rows, err := t.query(queryDueDeliveries, tables.Millis(now))
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
		if _, err := t.exec(`UPDATE deliveries SET leased = ?1, wake = max(due, ?1) WHERE seq = ?2`, tables.Millis(until), id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Listeners implements store.Questions. The only hub owns all of them.
func (s *engine) Listeners(ctx context.Context, after schema.EventID, limit int) ([]store.Listener, error) {
	list, err := s.Tables.Listeners(ctx, after, limit)
	for i := range list {
		list[i].Owner = s.Self()
	}
	return list, err
}

func (s *engine) Orphans(
	ctx context.Context, of store.Lifeline, alive []string, after schema.EventID, limit int,
) ([]schema.EventID, error) {
	if slices.Contains(alive, s.Self()) { // the only hub, which owns all
		return nil, ctx.Err()
	}
	return s.Lifelines(ctx, of, after, limit)
}
