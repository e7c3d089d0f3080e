package sqlite

import (
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// removeAnonymous removes the channels, push subscriptions, notification settings and rules of
// callers without credentials, each with a record in the audit log: they would outlive the
// lock. Rules are revoked, because answers refer to them.
func (t *tx) removeAnonymous() (removed store.AnonymousRemoval, err error) {
	list, err := t.channelsWhere(`created_by = ?`, store.LocalName)
	if err != nil {
		return removed, err
	}
	for _, c := range list {
		questions, err := t.removeChannel(c, kit.ByHub)
		if err != nil {
			return removed, err
		}
		removed.Channels, removed.Questions = append(removed.Channels, c.ID), append(removed.Questions, questions...)
	}
	rows, err := t.query(`SELECT id FROM rules WHERE revoked_at = 0 AND created_by = ? ORDER BY id`, store.LocalName)
	rules, err := collect(rows, err, scanColumn[int64])
	if err != nil {
		return removed, err
	}
	for _, id := range rules {
		if _, err := t.exec(`UPDATE rules SET revoked_at = ?, revoked_by = ? WHERE id = ?`, kit.Millis(t.now), kit.ByHub, id); err != nil {
			return removed, err
		}
		if err := t.appendLedger(store.LedgerRecord{Action: "rule.revoked", Actor: kit.ByHub, Data: kit.RuleData{ID: id}}); err != nil {
			return removed, err
		}
	}
	browsers, err := t.exec(`DELETE FROM browsers WHERE person = ''`)
	for range browsers {
		if err == nil {
			err = t.appendLedger(store.LedgerRecord{Action: "push.removed", Actor: kit.ByHub})
		}
	}
	if err != nil {
		return removed, err
	}
	_, err = t.exec(`DELETE FROM notice_settings WHERE person = ''`)
	return removed, err
}
