package sqlite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// Stats report the rows that the projector and the indexer have not read.
func TestStats_ReportLags(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.AppendMany(t, 1500, func(int) *store.EventDraft { return conformance.NewDraft("app", "s", "Stop", "") })
	stats, err := b.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1500, stats.Projections.Rows)
	require.EqualValues(t, 1023, stats.SearchIndex.Rows, "full blocks only")
	require.NoError(t, b.ApplyProjection(t.Context(), &store.ProjectionBatch{To: 1500}))
	stop := b.StartIndexer(t)
	defer stop()
	require.Eventually(t, func() bool {
		stats, err := b.Stats(t.Context())
		return err == nil && stats.Projections == store.Lag{} && stats.SearchIndex == store.Lag{}
	}, time.Minute, time.Millisecond)
}
