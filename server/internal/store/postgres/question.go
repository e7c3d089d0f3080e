package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryQuestion = `SELECT ` + eventColumns + fullPayload + `q.question, q.status,
	q.url, q.listener_key, q.protocol, q.deadline, q.text, q.asker, q.requester, q.body_hash, q.ask_hash, q.secret_hash, q.has_nonce, q.version, q.state, q.answer, q.held, q.held_until, q.remind_at, q.escalate_at, q.lifeline, q.receipt, q.proofs,
	d.answer_id, d.state, d.attempts, d.sent, d.due, d.until, d.leased, d.handled
	FROM questions q JOIN events e ON e.seq = q.seq
	LEFT JOIN deliveries d ON d.seq = q.seq
	WHERE q.seq = $1`

func (s *engine) Question(ctx context.Context, id schema.EventID) (*store.Question, error) {
	var r questionRow
	err := s.readers.get(ctx, r.dest(), queryQuestion, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, s.explainNoQuestion(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return r.question(id), nil
}

// questionRow is a scanned row of queryQuestion.
type questionRow struct {
	event           eventRow
	q               store.Question
	delivery        deliveryRow
	deadline, until int64
	held            []byte
	timers          [2]int64
}

func (r *questionRow) dest() []any {
	dest := append(r.event.dest(), &r.q.URL, &r.q.ListenerKey, &r.q.Protocol, &r.deadline, &r.q.Text, &r.q.RequesterProcess, &r.q.Requester, &r.q.BodyHash, &r.q.AskHash, &r.q.SecretHash, &r.q.HasNonce, &r.q.Version, &r.q.State, &r.q.Answer, &r.held, &r.until, &r.timers[0], &r.timers[1], &r.q.Lifeline, &r.q.Receipt, &r.q.Proofs)
	return append(dest, r.delivery.dest()...)
}

// question converts the row.
func (r *questionRow) question(id schema.EventID) *store.Question {
	q := &r.q
	q.Event, q.Deadline, q.Delivery = *r.event.build(), kit.Time(r.deadline), r.delivery.toDelivery(id)
	q.Timers = store.Timers{Remind: kit.Time(r.timers[0]), Escalate: kit.Time(r.timers[1])}
	if r.until > 0 {
		q.UndoWindow = &store.UndoWindow{Answer: r.held, Until: kit.Time(r.until)}
	}
	return q
}

const queryIsEvent = `SELECT 1 FROM events WHERE seq = $1`

// explainNoQuestion returns schema.ErrNoQuestion, or schema.ErrNotFound if there is no such
// event either.
func (s *engine) explainNoQuestion(ctx context.Context, id schema.EventID) error {
	var found int
	err := s.readers.get(ctx, []any{&found}, queryIsEvent, id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return schema.ErrNotFound
	case err != nil:
		return err
	default:
		return schema.ErrNoQuestion
	}
}
