package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryQuestion = `SELECT ` + eventColumns + fullPayload + `q.question, q.status, ` + kit.QuestionColumns + `, q.owner, q.machine
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
	return r.question(), nil
}

// questionRow is a scanned row of queryQuestion.
type questionRow struct {
	event eventRow
	kit.QuestionRow
	owner, machine string
}

func (r *questionRow) dest() []any {
	return append(append(r.event.dest(), r.Dest()...), &r.owner, &r.machine)
}

// question converts the row.
func (r *questionRow) question() *store.Question {
	q := r.Question(r.event.build())
	q.Owner, q.Machine = r.owner, r.machine
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
