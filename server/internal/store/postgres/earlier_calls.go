package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxEarlierOutcomes bounds how many earlier questions EarlierOutcomes returns.
const maxEarlierOutcomes = 1000

const queryEarlierOutcomes = `SELECT p.seq, p.status FROM questions q JOIN questions p ON p.app = q.app AND p.call = q.call AND p.seq < q.seq
	WHERE q.seq = $1 AND p.call IS NOT NULL AND p.state <> 'pending' ORDER BY p.seq DESC LIMIT $2`

func (s *engine) EarlierOutcomes(ctx context.Context, id schema.EventID) ([]store.EarlierOutcome, error) {
	rows, err := s.readers.query(ctx, queryEarlierOutcomes, id, maxEarlierOutcomes)
	return collect(rows, err, func(rows pgx.Rows, e *store.EarlierOutcome) error {
		var raw []byte
		if err := rows.Scan(&e.ID, &raw); err != nil {
			return err
		}
		var status struct {
			Outcome schema.Outcome `json:"outcome"`
		}
		err := json.Unmarshal(raw, &status)
		e.Outcome = status.Outcome
		return err
	})
}
