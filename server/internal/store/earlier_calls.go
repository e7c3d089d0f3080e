package store

import (
	"context"

	"github.com/hookback/hookback/schema"
)

// maxEarlierOutcomes bounds how many earlier questions EarlierOutcomes returns.
const maxEarlierOutcomes = 1000

// EarlierOutcome is the outcome of an earlier question.
type EarlierOutcome struct {
	ID      schema.EventID
	Outcome schema.Outcome
}

const queryEarlierOutcomes = `SELECT p.seq, coalesce(json_extract(CAST(p.status AS TEXT), '$.outcome'), '')
	FROM questions q CROSS JOIN questions p INDEXED BY questions_by_call
		ON p.stream_id = q.stream_id AND p.app = q.app AND p.call = q.call AND p.seq < q.seq
	WHERE q.stream_id = 1 AND q.seq = ? AND p.call IS NOT NULL AND p.state <> 'pending'
	ORDER BY p.seq DESC LIMIT ?`

// EarlierOutcomes returns the outcomes of earlier resolved questions about the same
// tool call in the same application, newest first. It returns none for a question
// without a call.
func (s *Store) EarlierOutcomes(ctx context.Context, id schema.EventID) ([]EarlierOutcome, error) {
	rows, err := s.readers.query(ctx, queryEarlierOutcomes, id, maxEarlierOutcomes)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []EarlierOutcome
	for rows.Next() {
		var e EarlierOutcome
		if err := rows.Scan(&e.ID, &e.Outcome); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}
