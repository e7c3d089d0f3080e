package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
)

const queryQuestion = `SELECT ` + eventColumns + fullPayload + `q.question, q.status, ` + kit.QuestionColumns + `
	FROM questions q CROSS JOIN events e ON e.seq = q.seq
	LEFT JOIN deliveries d ON d.seq = q.seq
	WHERE q.seq = ?`

func (s *engine) Question(ctx context.Context, id schema.EventID) (*store.Question, error) {
	var r questionRow
	err := s.readers.getByKey(ctx, r.dest(), queryQuestion, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, explainNoQuestion(ctx, &s.readers.statements, id)
	}
	if err != nil {
		return nil, err
	}
	q, err := r.question(ctx, s.dictionary, &s.readers.statements)
	if err == nil {
		q.Owner = s.Self()
	}
	return q, err
}

// questionRow is a scanned row of queryQuestion.
type questionRow struct {
	event eventRow
	kit.QuestionRow
}

func (r *questionRow) dest() []any { return append(r.event.dest(), r.Dest()...) }

// question converts the row and resolves its names.
func (r *questionRow) question(ctx context.Context, names *dictionary, from *statements) (*store.Question, error) {
	e, err := r.event.build(ctx, names, from)
	if err != nil {
		return nil, err
	}
	return r.Question(e), nil
}

const queryIsEvent = `SELECT 1 FROM events WHERE seq = ?`

// explainNoQuestion returns schema.ErrNoQuestion, or schema.ErrNotFound if there is no such
// event either.
func explainNoQuestion(ctx context.Context, from *statements, id schema.EventID) error {
	var found int
	err := from.getByKey(ctx, []any{&found}, queryIsEvent, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return schema.ErrNotFound
	case err != nil:
		return err
	default:
		return schema.ErrNoQuestion
	}
}
