package sqlite

import (
	"database/sql"

	"github.com/hookback/hookback/server/internal/store"
)

// removeAnonymous removes the channels, push subscriptions, notification settings and rules of
// callers without credentials, each with a record in the audit log: they would outlive the
// lock. Rules are revoked, because answers refer to them.
func (t *tx) removeAnonymous() (removed store.AnonymousRemoval, err error) {
	var list []channelLedgerData
	err = t.scanAll(func(rows *sql.Rows) error {
		var c channelLedgerData
		err := rows.Scan(&c.ID, &c.Name, &c.Kind, &c.Person)
		list = append(list, c)
		return err
	}, `SELECT id, name, kind, person FROM channels WHERE stream_id = 1 AND created_by = ? ORDER BY id`, store.LocalName)
	if err != nil {
		return removed, err
	}
	for _, c := range list {
		questions, err := t.removeChannel(c, byHub)
		if err != nil {
			return removed, err
		}
		removed.Channels, removed.Questions = append(removed.Channels, c.ID), append(removed.Questions, questions...)
	}
	var rules []int64
	err = t.scanAll(func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		rules = append(rules, id)
		return err
	}, `SELECT id FROM rules WHERE stream_id = 1 AND revoked_at = 0 AND json_extract(CAST(rule AS TEXT), '$.createdBy') = ? ORDER BY id`, store.LocalName)
	if err != nil {
		return removed, err
	}
	for _, id := range rules {
		if _, err := t.exec(`UPDATE rules SET revoked_at = ?, revoked_by = ? WHERE stream_id = 1 AND id = ?`, toMillis(t.now), byHub, id); err != nil {
			return removed, err
		}
		if err := t.appendLedger(store.LedgerRecord{Action: "rule.revoked", Actor: byHub, Data: ruleLedgerData{ID: id}}); err != nil {
			return removed, err
		}
	}
	browsers, err := t.exec(`DELETE FROM browsers WHERE stream_id = 1 AND person = ''`)
	for range browsers {
		if err == nil {
			err = t.appendLedger(store.LedgerRecord{Action: "push.removed", Actor: byHub})
		}
	}
	if err != nil {
		return removed, err
	}
	_, err = t.exec(`DELETE FROM notice_settings WHERE stream_id = 1 AND person = ''`)
	return removed, err
}

// scanAll calls scan for each row of a query.
func (t *tx) scanAll(scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := t.query(query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
