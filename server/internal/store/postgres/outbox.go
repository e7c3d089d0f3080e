package postgres

import (
	"context"
	"net/url"
	"time"

	"github.com/hookback/hookback/agentclient/socket"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/tables"
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
		id, d.AnswerID, d.State, d.Attempts, d.Sent, tables.Millis(d.Due),
		tables.Millis(d.Until), tables.Millis(d.Handled), d.IsOpen(), d.IsUndelivered(),
		tables.Millis(d.Leased), t.w.store.Self(), t.w.store.members.self.Machine)
	return err
}

const (
	queryNextDelivery = `SELECT least((SELECT min(wake) FROM deliveries WHERE open AND machine IN ('', $1)),
		(SELECT min(greatest(until, wake)) FROM deliveries WHERE open AND machine <> '' AND until > 0))`
	queryDueDeliveries = `SELECT seq FROM deliveries WHERE open AND wake <= $1 AND (machine IN ('', $3) OR until BETWEEN 1 AND $1) ORDER BY wake, seq LIMIT $2`
)

// NextDelivery implements tables.Engine.
func (e tableEngine) NextDelivery() (string, []any) {
	return queryNextDelivery, []any{e.members.self.Machine}
}

// LeaseDeliveries implements tables.Tx.
func (t *tx) LeaseDeliveries(now, until time.Time, n int) ([]schema.EventID, error) {
	rows, err := t.query(queryDueDeliveries, tables.Millis(now), n, t.w.store.members.self.Machine)
	ids, err := scanIDs(rows, err)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids, t.exec(`UPDATE deliveries SET leased = $1, wake = greatest(due, $1), owner = $2 WHERE seq = ANY($3)`, tables.Millis(until), t.w.store.Self(), idList(ids))
}

// idList returns ids as an array parameter.
func idList(ids []schema.EventID) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
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
	if u, err := url.Parse(address); err != nil || !socket.IsLoopback(u.Hostname()) {
		return "" // it does not mean a process of the hub's own machine
	}
	return s.members.self.Machine
}
