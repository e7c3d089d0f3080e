package tables

import (
	"context"
	"database/sql"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// listedQuestions selects questions with their events.
var listedQuestions = `SELECT ` + eventColumns + listedPayload + `q.question, q.status
	FROM questions q /*!CROSS*/ JOIN events e ON e.seq = q.seq `

var queryPending = listedQuestions + `WHERE q.inbox = 'pending' AND q.seq > $1 ORDER BY q.seq LIMIT 1000`

func (t *Tables) Pending(ctx context.Context) (all []*store.Event, _ error) {
	for last := schema.EventID(0); ; last = all[len(all)-1].ID {
		events, err := t.readEvents(ctx, queryPending, last)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			return all, nil
		}
		all = append(all, events...)
	}
}

var queryQuestions = listedQuestions + `WHERE q.seq < $1 ORDER BY q.seq DESC LIMIT $2`

func (t *Tables) Questions(ctx context.Context, before schema.EventID, n int) ([]*store.Event, error) {
	return t.readEvents(ctx, queryQuestions, before, n)
}

const queryQuestion = `SELECT ` + eventColumns + fullPayload + `q.question, q.status, q.url, q.listener_key, q.protocol, q.deadline, q.text, q.asker,
		q.requester, q.body_hash, q.ask_hash, q.secret_hash, q.has_nonce, q.version, q.state, q.answer, q.held, q.held_until, q.remind_at,
		q.escalate_at, q.lifeline, q.receipt, q.proofs, q.owner, q.machine,
		d.answer_id, coalesce(d.state, ''), coalesce(d.attempts, 0), coalesce(d.sent, false),
		coalesce(d.due, 0), coalesce(d.until, 0), coalesce(d.leased, 0), coalesce(d.handled, 0)
	FROM questions q /*!CROSS*/ JOIN events e ON e.seq = q.seq
	LEFT JOIN deliveries d ON d.seq = q.seq
	WHERE q.seq = $1`

// questionRow is a scanned row of queryQuestion.
type questionRow struct {
	event    eventRow
	q        store.Question
	window   store.UndoWindow
	answer   sql.NullString // NULL: there is no delivery
	delivery store.Delivery
}

func (r *questionRow) dest(names Names) []any {
	q, d := &r.q, &r.delivery
	return append(r.event.dest(names),
		&q.URL, &q.ListenerKey, &q.Protocol, ScanTime(&q.Deadline), &q.Text, &q.RequesterProcess,
		&q.Requester, &q.BodyHash, &q.AskHash, &q.SecretHash, &q.HasNonce, &q.Version, &q.State, &q.Answer, &r.window.Answer,
		ScanTime(&r.window.Until), ScanTime(&q.Timers.Remind), ScanTime(&q.Timers.Escalate), &q.Lifeline,
		&q.Receipt, &q.Proofs, &q.Owner, &q.Machine,
		&r.answer, &d.State, &d.Attempts, &d.Sent, ScanTime(&d.Due), ScanTime(&d.Until), ScanTime(&d.Leased), ScanTime(&d.Handled))
}

// question converts the row.
func (r *questionRow) question(ctx context.Context, names Names) (*store.Question, error) {
	e, err := r.event.build(ctx, names)
	if err != nil {
		return nil, err
	}
	q := &r.q
	q.Event = *e
	if !r.window.Until.IsZero() {
		q.UndoWindow = &r.window
	}
	if r.answer.Valid {
		q.Delivery = &r.delivery
		q.Delivery.ID, q.Delivery.AnswerID = e.ID, r.answer.String
	}
	return q, nil
}

func (t *Tables) Question(ctx context.Context, id schema.EventID) (*store.Question, error) {
	var r questionRow
	found, err := t.ReadOne(ctx, r.dest(t), queryQuestion, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, t.explainNoQuestion(ctx, id)
	}
	q, err := r.question(ctx, t)
	if err == nil {
		t.own(&q.Place)
	}
	return q, err
}

// explainNoQuestion returns schema.ErrNoQuestion, or schema.ErrNotFound if there is no such
// event either.
func (t *Tables) explainNoQuestion(ctx context.Context, id schema.EventID) error {
	var one int64
	if err := orNotFound(t.ReadOne(ctx, []any{&one}, queryIsEvent, id)); err != nil {
		return err
	}
	return schema.ErrNoQuestion
}

// questionAsOf reads a question as of a transaction; nil after an error.
func (w *Work) questionAsOf(id schema.EventID) (q *store.Question) {
	var r questionRow
	w.require(w.find(r.dest(w), queryQuestion, id), schema.ErrNotFound)
	if w.err == nil {
		q, w.err = r.question(context.Background(), w)
	}
	return q
}

// maxEarlierOutcomes bounds how many earlier questions EarlierOutcomes returns.
const maxEarlierOutcomes = 1000

func (t *Tables) EarlierOutcomes(ctx context.Context, id schema.EventID) ([]store.EarlierOutcome, error) {
	type status struct {
		Outcome *schema.Outcome `json:"outcome"`
	}
	return collect(ctx, t, func(e *store.EarlierOutcome) []any { return []any{&e.ID, JSONBytes(&status{&e.Outcome})} },
		`SELECT p.seq, p.status FROM questions q /*! CROSS */ JOIN questions p /*! INDEXED BY questions_by_call */
			ON p.app = q.app AND p.call = q.call AND p.seq < q.seq
		WHERE q.seq = $1 AND p.call IS NOT NULL AND p.state <> 'pending' ORDER BY p.seq DESC LIMIT $2`, id, maxEarlierOutcomes)
}
