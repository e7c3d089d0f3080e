package sqlite

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
	"github.com/hookback/hookback/server/internal/storetest/conformance"
)

func TestLagMeter_MeasuresOldestRow(t *testing.T) {
	t.Parallel()
	start := time.Unix(1e9, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	var m lagMeter
	m.grow(100, at(0))
	require.Equal(t, store.Lag{Rows: 100, Time: 3 * time.Second}, m.lag(at(3)))
	require.Zero(t, m.ingestDelay(at(60)), "work from before the start delays no one")
	m.reach(100)
	require.Zero(t, m.lag(at(60)))

	for s := range 100 {
		m.grow(int64(101+s), at(100+float64(s)))
	}
	require.Equal(t, store.Lag{Rows: 100, Time: 100 * time.Second}, m.lag(at(200)))
	m.reach(150)
	require.Equal(t, int64(50), m.lag(at(200)).Rows)
	require.InDelta(t, 50*time.Second, m.lag(at(200)).Time, float64(time.Second))
	require.Equal(t, maxIngestDelay, m.ingestDelay(at(200)))
	m.reach(196)
	require.Zero(t, m.ingestDelay(at(200)))
	m.reach(200)
	require.Zero(t, m.lag(at(1000)))
	m.reach(10)
	require.Zero(t, m.lag(at(1000)), "a position does not go back")

	for s := range 10 * maxLagMarks {
		m.grow(int64(201+s), at(2000+float64(s)))
	}
	require.LessOrEqual(t, len(m.marks), maxLagMarks)
	m.reach(200 + 9*maxLagMarks)
	require.InEpsilon(t, maxLagMarks*time.Second, m.lag(at(2000+10*maxLagMarks)).Time, 0.1)
}

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
		s.projected.grow(1, time.Now())
		s.projected.reach(1)
		s.projected.grow(2, time.Now())
		require.Zero(t, delay())
		<-time.After(tolerableLag + 500*time.Millisecond) // fake clock
		require.Equal(t, 100*time.Millisecond, delay())
		s.projected.reach(2)
		require.Zero(t, delay())
		s.indexed.reach(0)
		s.indexed.grow(1023, time.Now())
		<-time.After(time.Hour) // fake clock
		require.Equal(t, maxIngestDelay, delay())
	})
}

// A reader that does not advance, as after an error that repeats, delays no one: waiting would not
// help it.
func TestLagMeter_StuckReaderDelaysNoOne(t *testing.T) {
	t.Parallel()
	start := time.Unix(1e9, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var m lagMeter
	m.grow(10, at(0))
	m.reach(10)
	m.grow(20, at(0))
	require.Equal(t, maxIngestDelay, m.ingestDelay(at(60)))
	require.Equal(t, maxIngestDelay, m.ingestDelay(at(70)))
	require.Zero(t, m.ingestDelay(at(60).Add(maxStall+time.Second)))
	require.Equal(t, int64(10), m.lag(at(1000)).Rows)

	m.reach(11) // slow, but not stuck
	require.Equal(t, maxIngestDelay, m.ingestDelay(at(1000)))
	m.reach(20)
	require.Zero(t, m.ingestDelay(at(1001)))
	m.grow(21, at(2000))
	require.Equal(t, maxIngestDelay, m.ingestDelay(at(2060)), "an hour without events is no stall")
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
