package sqlite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// buildIndex indexes all full blocks.
func buildIndex(t testing.TB, s *engine) {
	t.Helper()
	x := s.NewIndexer()
	for more := true; more; {
		var err error
		more, err = x.BuildNext(context.Background())
		require.NoError(t, err)
	}
}

// countBlocks returns the number of blocks in the index.
func (b *testStore) countBlocks(t testing.TB) (n int) {
	t.Helper()
	require.NoError(t, b.readRow(context.Background(), []any{&n}, `SELECT count(*) FROM search_blocks WHERE made <> ''`))
	return n
}

func TestSearch_ProgressesWithTinyTimeout(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, 700, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "PreToolUse", "Bash") })
	for _, ascending := range []bool{true, false} {
		all, calls := b.SearchAll(t, store.Search{Filter: conformance.MustParse(t, "-nowhere"), Timeout: 1, Oldest: ascending})
		require.Len(t, all, 700)
		require.Greater(t, calls, 700/32-1, "every call examines one batch")
	}
}
