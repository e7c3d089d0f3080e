package store

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// A stretch is 64 numbers of the log, the finest that an index tells apart.
const (
	segmentBits       = 6
	segmentsPerWindow = windowSize >> segmentBits
)

// segmentSet are the stretches of a span.
type segmentSet [segmentsPerWindow]bool

func (c *segmentSet) fill() *segmentSet {
	for i := range c {
		c[i] = true
	}
	return c
}

// seqRange is a part of a span, both ends included.
type seqRange struct{ from, to int64 }

// ranges are the pieces of from to to that the set has, in the walk's direction.
func (c *segmentSet) ranges(from, to int64, up bool) iter.Seq[seqRange] {
	base := from &^ (windowSize - 1)
	first, last := (from-base)>>segmentBits, (to-base)>>segmentBits
	step := int64(1)
	if !up {
		first, last, step = last, first, -1
	}
	return func(yield func(seqRange) bool) {
		for i := first; i != last+step; i += step {
			if !c[i] {
				continue
			}
			begin := i
			for i != last && c[i+step] {
				i += step
			}
			low, high := min(begin, i), max(begin, i)
			if !yield(seqRange{max(from, base+low<<segmentBits), min(to, base+(high+1)<<segmentBits-1)}) {
				return
			}
		}
	}
}

// candidates are the stretches of a span that may have a match.
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

// keepNameSegments leaves the stretches of zones that have one of the names.
func (run *searchRun) keepNameSegments(ctx context.Context, n nameCondition, set *segmentSet, r seqRange) error {
	if n.negated || n.column == "tool" {
		return nil
	}
	rows, err := run.store.readers.db.QueryContext(ctx, conditionSegmentsSQL(n), r.from>>nameSegmentBits, r.to>>nameSegmentBits)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var found segmentSet
	for rows.Next() {
		var segment int64
		if err := rows.Scan(&segment); err != nil {
			return err
		}
		const each = nameSegmentSize >> segmentBits
		for i := range int64(each) {
			found[(segment*each+i)%segmentsPerWindow] = true
		}
	}
	for i := range set {
		set[i] = set[i] && found[i]
	}
	return rows.Err()
}

// conditionSegmentsSQL finds the zones of the names one by one, each in its index.
func conditionSegmentsSQL(n nameCondition) string {
	ids := make([]string, len(n.ids))
	for i, id := range n.ids {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return fmt.Sprintf(`SELECT zone FROM zones WHERE stream_id = 1 AND name IN (%s) AND zone BETWEEN ? AND ?`, strings.Join(ids, ", "))
}
