package sqlite

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// The sample listener of protocol version 1 gives an answer to the newest question of its
// permission_type, whichever question was answered. A new question therefore ends the older
// one, in the transaction that stores it: at no time can both be approved. An answer to an
// older question that was not sent yet is not sent any more.

const (
	querySharedListener = `SELECT seq FROM questions INDEXED BY questions_by_listener
		WHERE state = 'pending' AND listener IS NOT NULL AND listener = ? AND seq < ? ORDER BY seq`
	queryUnsentToListener = `SELECT d.seq FROM deliveries d INDEXED BY deliveries_undelivered CROSS JOIN questions q ON q.seq = d.seq
		WHERE d.undelivered AND d.open AND NOT d.sent AND q.listener = ? AND +q.seq < ?`
)

// supersede ends the pending questions that share a listener with the new question id, and
// the delivery of unsent answers to it.
func (t *tx) supersede(id schema.EventID, q *store.NewQuestion) error {
	if q == nil || q.SharedListener == nil {
		return nil
	}
	var older []schema.EventID
	for _, query := range []string{querySharedListener, queryUnsentToListener} {
		rows, err := t.query(query, q.SharedListener, id)
		ids, err := scanIDs(rows, err)
		if err != nil {
			return err
		}
		older = append(older, ids...)
	}
	for _, seq := range older {
		question, err := t.QuestionAsOf(seq)
		if err != nil {
			return err
		}
		change, err := q.Supersede(question, id)
		if err != nil {
			return err
		}
		if err := t.apply(change); err != nil {
			return err
		}
	}
	return nil
}
