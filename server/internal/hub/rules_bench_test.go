package hub

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/hub/arrival"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest"
)

// BenchmarkRules measures the cost of a thousand rules for a question that none of them
// matches: of the evaluation alone and of ingesting the question. All rules are for the
// tool of the question and reach every session.
func BenchmarkRules(b *testing.B) {
	for _, n := range []int{0, 1000} {
		s := storetest.Open(b, storetest.Options{})
		h := New(Config{Store: s, Feed: feed.New(s.Head(), 64, 1<<20)})
		saved, err := h.Ingest(b.Context(), []byte(bashRequest("s", "npm test")), Caller{})
		require.NoError(b, err)
		for i := range n {
			_, err := s.CreateRule(b.Context(), schema.Rule{Then: schema.ThenAllow, Tool: "Bash", From: saved.ID, CreatedBy: "ada", When: []schema.Condition{
				{Argument: "command", Is: "starts_with", Value: fmt.Appendf(nil, `"word%d"`, i)},
			}})
			require.NoError(b, err)
		}
		require.NoError(b, h.loadRules(b.Context()))
		require.Equal(b, n, h.rules.Load().Len())
		e, _, err := s.Event(b.Context(), saved.ID)
		require.NoError(b, err)
		var q schema.HumanInTheLoop
		require.NoError(b, json.Unmarshal(e.Question, &q))
		e.ID = schema.EventID(s.Head() + 1) // newer than the rules
		b.Run(fmt.Sprintf("evaluate/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := postedEvent{Arrival: &arrival.Arrival{Ask: &q}, event: e, first: &question.Snapshot{Question: &store.Question{Event: *e}, Ask: q}}
				h.applyRules(b.Context(), &s)
				require.Same(b, e, s.event)
			}
		})
		b.Run(fmt.Sprintf("ingest/%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				_, err := h.Ingest(b.Context(), []byte(bashRequest(fmt.Sprintf("s%d", i), "npm test")), Caller{})
				require.NoError(b, err)
			}
		})
	}
}
