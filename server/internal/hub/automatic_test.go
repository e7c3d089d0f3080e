package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
)

// automatic returns the answers of all pages of a size.
func (h *testHub) automatic(limit int) (all []history.AutomaticAnswer) {
	h.t.Helper()
	for before := schema.EventID(0); ; {
		page, err := h.query.Automatic(h.t.Context(), before, limit)
		require.NoError(h.t, err)
		require.LessOrEqual(h.t, len(page.Answers), limit)
		all = append(all, page.Answers...)
		if page.Next == 0 {
			return all
		}
		require.True(h.t, before == 0 || page.Next < before, "every page makes progress")
		before = page.Next
	}
}

// Answers of rules are found between many others, each once.
func TestAutomatic_PagesThroughQuestions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	require.Empty(t, h.automatic(10))
	rule := h.makeRule(schema.ThenAllow)
	var want []schema.EventID
	for i := range 300 {
		if i%100 == 0 {
			want = append([]schema.EventID{h.post(bashRequest("s", fmt.Sprint("npm test ", i))).ID}, want...)
			continue
		}
		id := h.post(bashRequest("s", fmt.Sprint("npm run lint ", i))).ID
		_, err := h.Respond(t.Context(), id, approval(), Caller{})
		require.NoError(t, err)
	}
	for _, limit := range []int{1, 2, 3, 200} {
		var got []schema.EventID
		for _, a := range h.automatic(limit) {
			require.Equal(t, []any{rule.ID, rule.Text, "ada", true, schema.ThenAllow}, []any{a.Rule.ID, a.Rule.Text, a.Author, a.Active, a.Then})
			got = append(got, a.Event)
		}
		require.Equal(t, want, got, "%d per page", limit)
	}
}

// A denial is an automatic answer too, and stays one when its rule has ended.
func TestAutomatic_KeepsAnswersOfEndedRules(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	rule := h.makeRule(schema.ThenDeny)
	denied := h.post(bashRequest("s", "npm test"))
	require.Equal(t, schema.Deny, h.status(denied.ID).Outcome)
	_, err := h.RevokeRule(t.Context(), rule.ID, Caller{Identity: ada})
	require.NoError(t, err)
	all := h.automatic(10)
	require.Len(t, all, 1)
	require.Equal(t, []any{denied.ID, "a", "s", "Bash", "Run npm test", schema.ThenDeny, false}, []any{all[0].Event, all[0].SourceApp, all[0].SessionID, all[0].Tool, all[0].Title, all[0].Then, all[0].Active})
	require.NotZero(t, all[0].At)
}
