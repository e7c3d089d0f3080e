package tables

import (
	"context"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxEarlierOutcomes bounds how many earlier questions EarlierOutcomes returns.
const maxEarlierOutcomes = 1000

func (t *Tables) EarlierOutcomes(ctx context.Context, id schema.EventID) ([]store.EarlierOutcome, error) {
	type status struct {
		Outcome schema.Outcome `json:"outcome"`
	}
	type earlier struct {
		id     schema.EventID
		status status
	}
	rows, err := collect(ctx, t, func(e *earlier) []any { return []any{&e.id, JSONBytes(&e.status)} },
		`SELECT p.seq, p.status FROM questions q /*! CROSS */ JOIN questions p /*! INDEXED BY questions_by_call */
			ON p.app = q.app AND p.call = q.call AND p.seq < q.seq
		WHERE q.seq = $1 AND p.call IS NOT NULL AND p.state <> 'pending' ORDER BY p.seq DESC LIMIT $2`, id, maxEarlierOutcomes)
	outcomes := make([]store.EarlierOutcome, len(rows))
	for i, e := range rows {
		outcomes[i] = store.EarlierOutcome{ID: e.id, Outcome: e.status.Outcome}
	}
	return outcomes, err
}
