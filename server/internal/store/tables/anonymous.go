package tables

import (
	"github.com/hookback/hookback/server/internal/store"
)

// removeAnonymous removes the channels, push subscriptions, notification settings and rules of
// callers without credentials, each with a record in the audit log: they would outlive the
// lock. Rules are revoked, because answers refer to them.
func (w *Work) removeAnonymous() (removed store.AnonymousRemoval, err error) {
	list, err := w.channelsWhere(`created_by = $1`, store.LocalName)
	if err != nil {
		return removed, err
	}
	for _, c := range list {
		questions, err := w.removeChannel(c, ByHub)
		if err != nil {
			return removed, err
		}
		removed.Channels, removed.Questions = append(removed.Channels, c.ID), append(removed.Questions, questions...)
	}
	rules, err := collectIn(w, column[int64], `SELECT id FROM rules WHERE revoked_at = 0 AND created_by = $1 ORDER BY id`, store.LocalName)
	for _, id := range rules {
		if err == nil {
			err = w.revokeRule(id, ByHub, Millis(w.Now))
		}
	}
	if err != nil {
		return removed, err
	}
	browsers, err := w.ExecCount(`DELETE FROM browsers WHERE person = ''`)
	for range browsers {
		if err == nil {
			err = w.AppendLedger(store.LedgerRecord{Action: "push.removed", Actor: ByHub})
		}
	}
	if err != nil {
		return removed, err
	}
	return removed, w.Exec(`DELETE FROM notice_settings WHERE person = ''`)
}
