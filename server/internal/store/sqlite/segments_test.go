package sqlite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/grams"
	"github.com/hookback/hookback/server/internal/store/tables"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// A search for a rare name reads only the segments that contain it, in any letter case.
func TestSearch_SkipsSegmentsWithoutName(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, 6*tables.NameSegmentSize, func(i int) *store.EventDraft {
		if i == 700 || i == 1800 {
			return conformance.NewDraft("Rare One", "s", "Stop", "")
		}
		return conformance.NewDraft("app", "s", "PreToolUse", "Bash")
	})
	for text, want := range map[string][]grams.Range{
		`agent:"rare ONE"`:            {{From: 1536, To: 2047}, {From: 512, To: 1023}},
		"agent:rare*":                 {{From: 1536, To: 2047}, {From: 512, To: 1023}},
		"agent:/rare/ -type:preto*":   {{From: 1536, To: 2047}, {From: 512, To: 1023}},
		"agent:rare* agent:app":       {{From: 1536, To: 2047}, {From: 512, To: 1023}},
		"-agent:rare*":                {{From: 1, To: 3072}},
		"agent:rare* status:pending":  {{From: 1, To: 3072}}, // scans the pending questions
		"tool:bash":                   {{From: 1, To: 3072}}, // may also be in a payload
		"agent:nobody":                nil,
		"session:s type:stop agent:*": {{From: 1536, To: 2047}, {From: 512, To: 1023}},
	} {
		run, err := b.NewSearch(t.Context(), store.Search{Filter: conformance.MustParse(t, text)})
		require.NoError(t, err)
		var got []grams.Range
		if from, to, ok := run.NextWindow(); ok {
			candidates, err := run.Candidates(t.Context(), from, to)
			require.NoError(t, err)
			got = slices.Collect(candidates.Ranges(from, to, false))
		}
		require.Equal(t, want, got, text)
	}
}
