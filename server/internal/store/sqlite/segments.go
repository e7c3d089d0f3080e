package sqlite

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/kit"
)

// Candidates implements kit.SearchSource.
func (run *searchRun) Candidates(ctx context.Context, from, to int64) (*grams.Set, error) {
	set := new(grams.Set).Fill()
	if run.questionsOnly { // its index is narrow enough
		return set, nil
	}
	if run.ratedOnly {
		if err := run.keepSegmentsOf(ctx, set, grams.Range{From: from, To: to}, queryQuestionsBetween, queryRatedBetween); err != nil {
			return nil, err
		}
	}
	if run.transcriptsOnly {
		if err := run.keepSegmentsOf(ctx, set, grams.Range{From: from, To: to}, queryTranscriptsBetween); err != nil {
			return nil, err
		}
	}
	for _, n := range run.conditions {
		if err := run.keepNameSegments(ctx, n, set, grams.Range{From: from, To: to}); err != nil {
			return nil, err
		}
	}
	return set, run.keepSegmentsWithText(ctx, set, grams.Range{From: from, To: to})
}

// The questions, the rated calls and the transcripts in a range.
const (
	queryTranscriptsBetween = `SELECT seq FROM transcript_texts WHERE seq BETWEEN ? AND ?`

	queryQuestionsBetween = `SELECT seq FROM questions WHERE seq BETWEEN ? AND ?`
	queryRatedBetween     = `SELECT seq FROM risky_calls WHERE seq BETWEEN ? AND ?`
)

// keepSegmentsOf removes the segments without a row of any of the queries.
func (run *searchRun) keepSegmentsOf(ctx context.Context, set *grams.Set, r grams.Range, queries ...string) error {
	var seqs []int64
	for _, query := range queries {
		rows, err := run.store.readers.query(ctx, query, r.From, r.To)
		found, err := collect(rows, err, scanColumn[int64])
		if err != nil {
			return err
		}
		seqs = append(seqs, found...)
	}
	kit.KeepSegmentsOf(set, seqs)
	return nil
}

// keepNameSegments removes the segments in which no event satisfies the name condition.
func (run *searchRun) keepNameSegments(ctx context.Context, c nameCondition, set *grams.Set, r grams.Range) error {
	if c.negated || c.column == "tool" {
		return nil
	}
	rows, err := run.store.readers.db.QueryContext(ctx, conditionSegmentsSQL(c), r.From>>nameSegmentBits, r.To>>nameSegmentBits)
	segments, err := collect(rows, err, scanColumn[int64])
	if err == nil {
		kit.KeepNameSegments(set, segments)
	}
	return err
}

// conditionSegmentsSQL returns the query for the name segments of a condition. It looks
// up each name in the primary key.
func conditionSegmentsSQL(c nameCondition) string {
	ids := make([]string, len(c.ids))
	for i, id := range c.ids {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return fmt.Sprintf(`SELECT zone FROM zones WHERE name IN (%s) AND zone BETWEEN ? AND ?`, strings.Join(ids, ", "))
}
