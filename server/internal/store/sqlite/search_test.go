package sqlite

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// buildIndex indexes all full blocks.
func buildIndex(t testing.TB, s *engine) {
	t.Helper()
	x := &indexer{engine: s}
	for more := true; more; {
		var err error
		more, err = x.buildNext(context.Background())
		require.NoError(t, err)
	}
}

// countBlocks returns the number of blocks in the index.
func (b *testStore) countBlocks(t testing.TB) (n int) {
	t.Helper()
	require.NoError(t, b.readers.get(context.Background(), []any{&n}, `SELECT count(*) FROM search_blocks WHERE made <> ''`))
	return n
}

func TestSearch_ProgressesWithTinyTimeout(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, 700, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "PreToolUse", "Bash") })
	for _, ascending := range []bool{true, false} {
		all, calls := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "-nowhere"), Timeout: 1, Oldest: ascending})
		require.Len(t, all, 700)
		require.Greater(t, calls, 700/firstBatch-1, "every call examines one batch")
	}
}

// A filter crafted to be slow is interrupted within the first batch of events.
func TestSearch_StopsAfterMaxOvertime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock does not advance
		run := &searchRun{Search: store.Search{Timeout: time.Millisecond}, deadline: time.Now().Add(-maxOvertime - time.Nanosecond)}
		require.False(t, run.isOverTime(), "every call makes progress")
		run.examined = 1
		require.True(t, run.isOverTime())
		run.deadline = time.Now().Add(-maxOvertime)
		require.False(t, run.isOverTime())
		run.examined = firstBatch
		require.True(t, run.isOverTime())
	})
}
