package hub

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// TestPendingCalls_MatchStore: the cached pending calls of a session equal the stored ones,
// in any order of new and settled questions.
func TestPendingCalls_MatchStore(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	var ids []schema.EventID
	ask := func(n int) {
		var list []schema.Event
		for i := range n {
			call := fmt.Sprintf(`"tool_name":"Bash","tool_input":{"command":"ls %d"}`, len(ids)+i)
			list = append(list, withQuestion(hookEvent(t, "PermissionRequest", call)))
		}
		raw, err := json.Marshal(list)
		require.NoError(t, err)
		_, got, err := h.IngestBatch(t.Context(), raw, Caller{})
		require.NoError(t, err)
		ids = append(ids, got...)
	}
	end := func(i int) {
		_, err := h.transition(t.Context(), ids[i], func(s *question.Snapshot) (*store.Change, error) {
			return s.CloseAnsweredAtAgent("Stop", h.Clock())
		})
		require.NoError(t, err)
		ids = append(ids[:i:i], ids[i+1:]...)
	}
	look := func(why string) {
		t.Helper()
		stored, err := h.Store.PendingInSession(t.Context(), "a", "s")
		require.NoError(t, err)
		list, err := h.pendingCalls(t.Context(), "a", "s")
		require.NoError(t, err)
		known := []schema.EventID{}
		for _, a := range list {
			known = append(known, a.ID)
		}
		require.ElementsMatch(t, stored, ids, why)
		require.Equal(t, stored[:min(len(stored), maxPendingCalls)], known, why)
	}
	ask(1)
	look("the first of all")
	end(0)
	require.Empty(t, h.pending.keys)
	require.Empty(t, h.calls)
	ask(3)
	look("it begins again")
	look("from memory")
	ask(2)
	end(1)
	look("one came and one went")
	end(0)
	look("the oldest went")
	ask(maxPendingCalls)
	look("more than are looked at")
	end(7)
	look("the next one moves up")
}
