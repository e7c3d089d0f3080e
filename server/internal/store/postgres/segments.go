package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hookback/hookback/server/internal/filter"
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
	queryQuestionsBetween   = `SELECT seq FROM questions WHERE seq BETWEEN $1 AND $2`
	queryRatedBetween       = `SELECT seq FROM risky_calls WHERE seq BETWEEN $1 AND $2`
	queryTranscriptsBetween = `SELECT seq FROM transcript_texts WHERE seq BETWEEN $1 AND $2`
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
	rows, err := run.store.readers.query(ctx, queryNameSegments, c.kind,
		append([]string{}, c.names...), r.From>>nameSegmentBits, r.To>>nameSegmentBits)
	segments, err := collect(rows, err, scanColumn[int64])
	if err == nil {
		kit.KeepNameSegments(set, segments)
	}
	return err
}

const queryNameSegments = `SELECT DISTINCT zone FROM zones WHERE kind = $1 AND name = ANY($2) AND zone BETWEEN $3 AND $4`

const queryTrigrams = `SELECT b.block, b.crowded, g.slice, g.grams FROM search_blocks b JOIN search_grams g ON g.block = b.block AND g.slice = ANY($1)
	WHERE b.block BETWEEN $2 AND $3 AND b.made = $4`

// trigramsAtOnce is the number of trigrams that one query looks up.
const trigramsAtOnce = 6

// keepSegmentsWithText removes the segments that lack one of the trigrams. Segments that
// are not indexed stay.
func (run *searchRun) keepSegmentsWithText(ctx context.Context, set *grams.Set, r grams.Range) error {
	for hashes := range slices.Chunk(run.trigrams, trigramsAtOnce) {
		for _, blocks := range set.BlockRanges(r, kit.MaxBlockRanges) {
			if err := run.keepSegmentsWithTrigrams(ctx, hashes, set, blocks); err != nil {
				return err
			}
		}
	}
	return nil
}

func (run *searchRun) keepSegmentsWithTrigrams(ctx context.Context, hashes []uint32, set *grams.Set, r grams.Range) error {
	wanted := make([]int16, len(hashes))
	for i, hash := range hashes {
		wanted[i] = int16(grams.Slice(hash))
	}
	rows, err := run.store.readers.query(ctx, queryTrigrams, wanted, r.From>>grams.BlockBits, r.To>>grams.BlockBits, filter.IndexVersion)
	return eachRow(rows, err, func(rows pgx.Rows) error {
		var block int64
		var saturated int32
		var slice int16
		var encoded pgtype.DriverBytes // valid until the next row
		if err := rows.Scan(&block, &saturated, &slice, &encoded); err != nil {
			return err
		}
		for i, hash := range hashes {
			if wanted[i] == slice {
				kit.KeepIndexed(set, block, grams.Lookup(encoded, hash)|uint16(saturated))
			}
		}
		return nil
	})
}
