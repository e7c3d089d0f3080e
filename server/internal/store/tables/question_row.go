package tables

import (
	"database/sql"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// QuestionColumns are the columns of questions q and deliveries d that QuestionRow.Dest scans.
const QuestionColumns = `q.url, q.listener_key, q.protocol, q.deadline, q.text, q.asker, q.requester, q.body_hash, q.ask_hash, q.secret_hash, q.has_nonce, q.version, q.state, q.answer, q.held, q.held_until, q.remind_at, q.escalate_at, q.lifeline, q.receipt, q.proofs,
	d.answer_id, d.state, d.attempts, d.sent, d.due, d.until, d.leased, d.handled`

// QuestionRow is a scanned row of QuestionColumns.
type QuestionRow struct {
	q               store.Question
	delivery        deliveryRow
	deadline, until int64
	held            []byte
	timers          [2]int64
}

// Dest returns the destinations of a row's scan.
func (r *QuestionRow) Dest() []any {
	q, d := &r.q, &r.delivery
	return []any{
		&q.URL, &q.ListenerKey, &q.Protocol, &r.deadline, &q.Text, &q.RequesterProcess, &q.Requester, &q.BodyHash,
		&q.AskHash, &q.SecretHash, &q.HasNonce, &q.Version, &q.State, &q.Answer, &r.held, &r.until, &r.timers[0],
		&r.timers[1], &q.Lifeline, &q.Receipt, &q.Proofs,
		&d.answer, &d.state, &d.attempts, &d.sent, &d.due, &d.until, &d.leased, &d.handled,
	}
}

// Question converts the row of the question e.
func (r *QuestionRow) Question(e *store.Event) *store.Question {
	q := &r.q
	q.Event, q.Deadline, q.Delivery = *e, Time(r.deadline), r.delivery.toDelivery(e.ID)
	q.Timers = store.Timers{Remind: Time(r.timers[0]), Escalate: Time(r.timers[1])}
	if r.until > 0 {
		q.UndoWindow = &store.UndoWindow{Answer: r.held, Until: Time(r.until)}
	}
	return q
}

// deliveryRow is a scanned delivery; all columns are NULL if there is none.
type deliveryRow struct {
	answer, state               sql.NullString
	attempts                    sql.NullInt64
	sent                        sql.NullBool
	due, until, leased, handled sql.NullInt64
}

func (r *deliveryRow) toDelivery(id schema.EventID) *store.Delivery {
	if !r.answer.Valid {
		return nil
	}
	return &store.Delivery{
		ID: id, AnswerID: r.answer.String, State: schema.DeliveryState(r.state.String), Attempts: int(r.attempts.Int64),
		Sent: r.sent.Bool, Due: Time(r.due.Int64), Until: Time(r.until.Int64), Leased: Time(r.leased.Int64),
		Handled: Time(r.handled.Int64),
	}
}
