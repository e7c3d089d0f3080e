package tables

import (
	"context"
	"database/sql"

	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store/grams"
)

// Candidates returns the segments of a window that may contain a match.
func (run *SearchRun) Candidates(ctx context.Context, from, to int64) (*grams.Set, error) {
	set, r := new(grams.Set).Fill(), grams.Range{From: from, To: to}
	if run.questionsOnly { // its index is narrow enough
		return set, nil
	}
	if run.ratedOnly {
		if err := run.keepSegmentsOf(ctx, set, r, queryQuestionsBetween, queryRatedBetween); err != nil {
			return nil, err
		}
	}
	if run.transcriptsOnly {
		if err := run.keepSegmentsOf(ctx, set, r, queryTranscriptsBetween); err != nil {
			return nil, err
		}
	}
	for _, n := range run.conditions {
		if err := run.keepNameSegments(ctx, n, set, r); err != nil {
			return nil, err
		}
	}
	return set, run.keepSegmentsWithText(ctx, set, r)
}

// The questions, the rated calls and the transcripts in a range.
const (
	queryQuestionsBetween   = `SELECT seq FROM questions WHERE seq BETWEEN $1 AND $2`
	queryRatedBetween       = `SELECT seq FROM risky_calls WHERE seq BETWEEN $1 AND $2`
	queryTranscriptsBetween = `SELECT seq FROM transcript_texts WHERE seq BETWEEN $1 AND $2`
)

// keepSegmentsOf removes the segments without a row of any of the queries.
func (run *SearchRun) keepSegmentsOf(ctx context.Context, set *grams.Set, r grams.Range, queries ...string) error {
	var found grams.Set
	for _, query := range queries {
		seqs, err := collect(ctx, run, column[int64], query, r.From, r.To)
		if err != nil {
			return err
		}
		for _, seq := range seqs {
			found[seq>>grams.SegmentBits%grams.SegmentsPerWindow] = true
		}
	}
	keep(set, &found)
	return nil
}

const queryNameSegments = `SELECT zone FROM zones WHERE kind = $1 AND name = ANY($2) AND zone BETWEEN $3 AND $4`

// keepNameSegments removes the segments in which no event satisfies the name condition.
func (run *SearchRun) keepNameSegments(ctx context.Context, c nameCondition, set *grams.Set, r grams.Range) error {
	if c.negated || c.column == "tool" {
		return nil
	}
	segments, err := collect(ctx, run, column[int64], queryNameSegments, c.kind, c.names, r.From>>NameSegmentBits, r.To>>NameSegmentBits)
	if err != nil {
		return err
	}
	var found grams.Set
	for _, segment := range segments {
		const perNameSegment = NameSegmentSize >> grams.SegmentBits
		for i := range int64(perNameSegment) {
			found[(segment*perNameSegment+i)%grams.SegmentsPerWindow] = true
		}
	}
	keep(set, &found)
	return nil
}

func keep(set, found *grams.Set) {
	for i := range set {
		set[i] = set[i] && found[i]
	}
}

// queryTrigrams reads slices of the index. See slicePlace.
const queryTrigrams = `SELECT g.place, b.crowded, g.grams FROM search_grams g /*!CROSS*/ JOIN search_blocks b ON b.block = g.place >> 6
	WHERE g.place = ANY($1) AND b.made = $2`

// slicePlace returns the key of a slice of a block in the table search_grams. One integer is the fastest key.
func slicePlace(block int64, slice int) int64 { return block<<6 | int64(slice) }

// trigramsAtOnce is the number of trigrams that one query looks up.
const trigramsAtOnce = 6

// keepSegmentsWithText removes the segments that lack one of the trigrams. Segments that
// are not indexed stay.
func (run *SearchRun) keepSegmentsWithText(ctx context.Context, set *grams.Set, r grams.Range) error {
	n := 1 // the first one is the rarest, and leaves few blocks for the others
	for left := run.trigrams; len(left) > 0; n = trigramsAtOnce {
		hashes := left[:min(n, len(left))]
		left = left[len(hashes):]
		var places []int64
		for block := r.From >> grams.BlockBits; block <= r.To>>grams.BlockBits; block++ {
			if !set.HasBlock(block) {
				continue
			}
			for _, hash := range hashes {
				places = append(places, slicePlace(block, grams.Slice(hash)))
			}
		}
		if len(places) == 0 {
			return nil
		}
		if err := run.keepSegmentsWithTrigrams(ctx, hashes, set, places); err != nil {
			return err
		}
	}
	return nil
}

func (run *SearchRun) keepSegmentsWithTrigrams(ctx context.Context, hashes []uint32, set *grams.Set, places []int64) error {
	return run.Read(ctx, func(rows Rows) error {
		var place, saturated int64
		var encoded sql.RawBytes
		if err := rows.Scan(&place, &saturated, &encoded); err != nil {
			return err
		}
		block := place >> 6
		for _, hash := range hashes {
			if slicePlace(block, grams.Slice(hash)) == place {
				keepIndexed(set, block, grams.Lookup(encoded, hash)|uint16(saturated))
			}
		}
		return nil
	}, queryTrigrams, places, filter.IndexVersion)
}

// keepIndexed removes the segments of a block that are not in a bit mask.
func keepIndexed(set *grams.Set, block int64, mask uint16) {
	const perBlock = grams.BlockSize >> grams.SegmentBits
	for i := range int64(perBlock) {
		at := (block*perBlock + i) % grams.SegmentsPerWindow
		set[at] = set[at] && mask&(1<<i) != 0
	}
}
