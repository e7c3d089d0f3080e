package sqlite

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/store/kit"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

// Plain events wait for projections that are far behind, questions do not. The clock of the
// synctest bubble makes the delays exact.
func TestAppend_WaitsForSlowReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &engine{}
		delay := func() time.Duration {
			start := time.Now()
			s.awaitReaders(t.Context())
			return time.Since(start)
		}
		s.projected.Grow(1, time.Now())
		s.projected.Reach(1)
		s.projected.Grow(2, time.Now())
		require.Zero(t, delay())
		<-time.After(kit.TolerableLag + 500*time.Millisecond) // fake clock
		require.Equal(t, 100*time.Millisecond, delay())
		s.projected.Reach(2)
		require.Zero(t, delay())
		s.indexed.Reach(0)
		s.indexed.Grow(1023, time.Now())
		<-time.After(time.Hour) // fake clock
		require.Equal(t, kit.MaxIngestDelay, delay())
	})
}

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
