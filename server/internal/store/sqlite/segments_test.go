package sqlite

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// TestSegmentSet_RangesCoverSet compares ranges with a loop over every number.
func TestSegmentSet_RangesCoverSet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		base := int64(r.IntN(3)) * windowSize
		from := base + int64(r.IntN(900))
		to := from + int64(r.IntN(900))
		set := new(segmentSet)
		for i := range set {
			set[i] = r.IntN(2) == 0
		}
		var want []int64
		for n := from; n <= to; n++ {
			if set[(n-base)>>segmentBits] {
				want = append(want, n)
			}
		}
		for _, ascending := range []bool{true, false} {
			var got []int64
			last := seqRange{}
			for piece := range set.ranges(from, to, ascending) {
				require.LessOrEqual(t, piece.from, piece.to)
				require.True(t, last == seqRange{} || ascending && piece.from > last.to+1 || !ascending && piece.to < last.from-1, "neighbors form one range")
				last = piece
				for n := piece.from; n <= piece.to; n++ {
					got = append(got, n)
				}
			}
			slices.Sort(got)
			require.Equal(t, want, got)
		}
	}
	for range new(segmentSet).ranges(0, windowSize-1, false) {
		require.Fail(t, "an empty set has no ranges")
	}
	for piece := range new(segmentSet).fill().ranges(7, windowSize-1, false) {
		require.Equal(t, seqRange{7, windowSize - 1}, piece)
	}
}

// A search for a rare name reads only the segments that contain it, in any letter case.
func TestSearch_SkipsSegmentsWithoutName(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, 6*nameSegmentSize, func(i int) *store.EventDraft {
		if i == 700 || i == 1800 {
			return conformance.NewDraft("Rare One", "s", "Stop", "")
		}
		return conformance.NewDraft("app", "s", "PreToolUse", "Bash")
	})
	for text, want := range map[string][]seqRange{
		`agent:"rare ONE"`:            {{1536, 2047}, {512, 1023}},
		"agent:rare*":                 {{1536, 2047}, {512, 1023}},
		"agent:/rare/ -type:preto*":   {{1536, 2047}, {512, 1023}},
		"agent:rare* agent:app":       {{1536, 2047}, {512, 1023}},
		"-agent:rare*":                {{1, 3072}},
		"agent:rare* status:pending":  {{1, 3072}}, // scans the pending questions
		"tool:bash":                   {{1, 3072}}, // may also be in a payload
		"agent:nobody":                nil,
		"session:s type:stop agent:*": {{1536, 2047}, {512, 1023}},
	} {
		run := &searchRun{store: b.engine, Search: store.Search{Filter: conformance.MustParse(t, text)}}
		run.questionsOnly = run.Filter.QuestionsOnly()
		require.NoError(t, run.setBounds(t.Context()))
		var got []seqRange
		if run.from <= run.to {
			from, to := run.nextWindow()
			candidates, err := run.candidates(t.Context(), from, to)
			require.NoError(t, err)
			got = slices.Collect(candidates.ranges(from, to, false))
		}
		require.Equal(t, want, got, text)
	}
}
