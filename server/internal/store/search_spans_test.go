package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunsAreTheStretchesOfASet compares runs with a loop over every number.
func TestRunsAreTheStretchesOfASet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		base := int64(r.IntN(3)) * maxSpan
		from := base + int64(r.IntN(900))
		to := from + int64(r.IntN(900))
		set := new(stretchSet)
		for i := range set {
			set[i] = r.IntN(2) == 0
		}
		var want []int64
		for n := from; n <= to; n++ {
			if set[(n-base)>>stretchBits] {
				want = append(want, n)
			}
		}
		for _, up := range []bool{true, false} {
			var got []int64
			last := run{}
			for piece := range set.runs(from, to, up) {
				require.LessOrEqual(t, piece.from, piece.to)
				require.True(t, last == run{} || up && piece.from > last.to+1 || !up && piece.to < last.from-1, "neighbours are one run")
				last = piece
				for n := piece.from; n <= piece.to; n++ {
					got = append(got, n)
				}
			}
			slices.Sort(got)
			require.Equal(t, want, got)
		}
	}
	for range new(stretchSet).runs(0, maxSpan-1, false) {
		require.Fail(t, "an empty set has no runs")
	}
	for piece := range new(stretchSet).fill().runs(7, maxSpan-1, false) {
		require.Equal(t, run{7, maxSpan - 1}, piece)
	}
}

// A name that is rare is found without a look at the rest of the log, though it is
// spelled with other capitals.
func TestSearchSkipsZonesWithoutTheName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill(t, 6*zoneSize, func(i int) *EventDraft {
		if i == 700 || i == 1800 {
			return draft("Rare One", "s", "Stop", "")
		}
		return draft("app", "s", "PreToolUse", "Bash")
	})
	for text, want := range map[string][]run{
		`agent:"rare ONE"`:            {{1536, 2047}, {512, 1023}},
		"agent:rare*":                 {{1536, 2047}, {512, 1023}},
		"agent:/rare/ -type:preto*":   {{1536, 2047}, {512, 1023}},
		"agent:rare* agent:app":       {{1536, 2047}, {512, 1023}},
		"-agent:rare*":                {{1, 3072}},
		"agent:rare* status:pending":  {{1, 3072}}, // walks the pending ones
		"tool:bash":                   {{1, 3072}}, // it may be in a payload
		"agent:nobody":                nil,
		"session:s type:stop agent:*": {{1536, 2047}, {512, 1023}},
	} {
		w := &walk{store: b.Store, Search: Search{Filter: parsed(t, text)}}
		w.asks = w.Filter.QuestionsOnly()
		require.NoError(t, w.bounds(t.Context()))
		var got []run
		if w.from <= w.to {
			from, to := w.span()
			candidates, err := w.candidates(t.Context(), from, to)
			require.NoError(t, err)
			got = slices.Collect(candidates.runs(from, to, false))
		}
		require.Equal(t, want, got, text)
	}
}
