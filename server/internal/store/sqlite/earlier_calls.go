package sqlite

import (
	"context"
	"database/sql"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxEarlierOutcomes bounds how many earlier questions EarlierOutcomes returns.
const maxEarlierOutcomes = 1000

const queryEarlierOutcomes = `SELECT p.seq, coalesce(json_extract(CAST(p.status AS TEXT), '$.outcome'), '')
	FROM questions q CROSS JOIN questions p INDEXED BY questions_by_call
		ON p.app = q.app AND p.call = q.call AND p.seq < q.seq
	WHERE q.seq = ? AND p.call IS NOT NULL AND p.state <> 'pending'
	ORDER BY p.seq DESC LIMIT ?`

func (s *engine) EarlierOutcomes(ctx context.Context, id schema.EventID) ([]store.EarlierOutcome, error) {
	rows, err := s.readers.query(ctx, queryEarlierOutcomes, id, maxEarlierOutcomes)
	return collect(rows, err, func(rows *sql.Rows, e *store.EarlierOutcome) error { return rows.Scan(&e.ID, &e.Outcome) })
}
