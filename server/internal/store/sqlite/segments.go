package sqlite

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// A segment is 64 sequence numbers, the finest unit that the indexes distinguish.
const (
	segmentBits       = 6
	segmentsPerWindow = windowSize >> segmentBits
)

// segmentSet is a set of segments of a window.
type segmentSet [segmentsPerWindow]bool

func (s *segmentSet) fill() *segmentSet {
	for i := range s {
		s[i] = true
	}
	return s
}

// seqRange is a range of sequence numbers, both ends inclusive.
type seqRange struct{ from, to int64 }

// ranges returns the maximal ranges of the set's segments within from and to, in search
// order.
func (s *segmentSet) ranges(from, to int64, ascending bool) iter.Seq[seqRange] {
	base := from &^ (windowSize - 1)
	first, last := (from-base)>>segmentBits, (to-base)>>segmentBits
	step := int64(1)
	if !ascending {
		first, last, step = last, first, -1
	}
	return func(yield func(seqRange) bool) {
		for i := first; i != last+step; i += step {
			if !s[i] {
				continue
			}
			begin := i
			for i != last && s[i+step] {
				i += step
			}
			low, high := min(begin, i), max(begin, i)
			if !yield(seqRange{max(from, base+low<<segmentBits), min(to, base+(high+1)<<segmentBits-1)}) {
				return
			}
		}
	}
}

// candidates returns the segments of a window that may contain a match.
func (run *searchRun) candidates(ctx context.Context, from, to int64) (*segmentSet, error) {
	set := new(segmentSet).fill()
	if run.questionsOnly { // its index is narrow enough
		return set, nil
	}
	for _, n := range run.conditions {
		if err := run.keepNameSegments(ctx, n, set, seqRange{from, to}); err != nil {
			return nil, err
		}
	}
	return set, run.keepSegmentsWithText(ctx, set, seqRange{from, to})
}

// keepNameSegments removes the segments in which no event satisfies the name condition.
func (run *searchRun) keepNameSegments(ctx context.Context, c nameCondition, set *segmentSet, r seqRange) error {
	if c.negated || c.column == "tool" {
		return nil
	}
	rows, err := run.store.readers.db.QueryContext(ctx, conditionSegmentsSQL(c), r.from>>nameSegmentBits, r.to>>nameSegmentBits)
	segments, err := collect(rows, err, scanColumn[int64])
	if err != nil {
		return err
	}
	var found segmentSet
	for _, segment := range segments {
		const perNameSegment = nameSegmentSize >> segmentBits
		for i := range int64(perNameSegment) {
			found[(segment*perNameSegment+i)%segmentsPerWindow] = true
		}
	}
	for i := range set {
		set[i] = set[i] && found[i]
	}
	return nil
}

// conditionSegmentsSQL returns the query for the name segments of a condition. It looks
// up each name in the primary key.
func conditionSegmentsSQL(c nameCondition) string {
	ids := make([]string, len(c.ids))
	for i, id := range c.ids {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return fmt.Sprintf(`SELECT zone FROM zones WHERE stream_id = 1 AND name IN (%s) AND zone BETWEEN ? AND ?`, strings.Join(ids, ", "))
}
