package tables

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

var queryPending = `SELECT ` + eventColumns + listedPayload + `q.question, q.status
	FROM questions q /*!CROSS*/ JOIN events e ON e.seq = q.seq
	WHERE q.inbox = 'pending' AND q.seq > $1 ORDER BY q.seq LIMIT 1000`

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

var queryQuestions = `SELECT ` + eventColumns + listedPayload + `q.question, q.status
	FROM questions q /*!CROSS*/ JOIN events e ON e.seq = q.seq
	WHERE q.seq < $1 ORDER BY q.seq DESC LIMIT $2`

func (t *Tables) Questions(ctx context.Context, before schema.EventID, n int) ([]*store.Event, error) {
	return t.readEvents(ctx, queryQuestions, before, n)
}

const queryQuestion = `SELECT ` + eventColumns + fullPayload + `q.question, q.status, ` + QuestionColumns + `, q.owner, q.machine
	FROM questions q /*!CROSS*/ JOIN events e ON e.seq = q.seq
	LEFT JOIN deliveries d ON d.seq = q.seq
	WHERE q.seq = $1`

// questionRow is a scanned row of queryQuestion.
type questionRow struct {
	event eventRow
	QuestionRow
	owner, machine string
}

func (r *questionRow) dest(names Names) []any {
	return append(append(r.event.dest(names), r.Dest()...), &r.owner, &r.machine)
}

// question converts the row.
func (r *questionRow) question(ctx context.Context, names Names) (*store.Question, error) {
	e, err := r.event.build(ctx, names)
	if err != nil {
		return nil, err
	}
	q := r.Question(e)
	q.Owner, q.Machine = r.owner, r.machine
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
	found, err := t.ReadOne(ctx, []any{&one}, queryIsEvent, id)
	if err := orNotFound(found, err); err != nil {
		return err
	}
	return schema.ErrNoQuestion
}

// questionAsOf reads a question as of a transaction.
func (w *Work) questionAsOf(id schema.EventID) (*store.Question, error) {
	var r questionRow
	found, err := w.Get(r.dest(w), queryQuestion, id)
	if err := orNotFound(found, err); err != nil {
		return nil, err
	}
	return r.question(context.Background(), w)
}
