package tables

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/store"
)

func TestLagMeter_MeasuresOldestRow(t *testing.T) {
	t.Parallel()
	start := time.Unix(1e9, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	var m lagMeter
	m.Grow(100, at(0))
	require.Equal(t, store.Lag{Rows: 100, Time: 3 * time.Second}, m.Lag(at(3)))
	require.Zero(t, m.IngestDelay(at(60)), "work from before the start delays no one")
	m.Reach(100)
	require.Zero(t, m.Lag(at(60)))

	for s := range 100 {
		m.Grow(int64(101+s), at(100+float64(s)))
	}
	require.Equal(t, store.Lag{Rows: 100, Time: 100 * time.Second}, m.Lag(at(200)))
	m.Reach(150)
	require.Equal(t, int64(50), m.Lag(at(200)).Rows)
	require.InDelta(t, 50*time.Second, m.Lag(at(200)).Time, float64(time.Second))
	require.Equal(t, maxIngestDelay, m.IngestDelay(at(200)))
	m.Reach(196)
	require.Zero(t, m.IngestDelay(at(200)))
	m.Reach(200)
	require.Zero(t, m.Lag(at(1000)))
	m.Reach(10)
	require.Zero(t, m.Lag(at(1000)), "a position does not go back")

	for s := range 10 * maxLagMarks {
		m.Grow(int64(201+s), at(2000+float64(s)))
	}
	require.LessOrEqual(t, len(m.marks), maxLagMarks)
	m.Reach(200 + 9*maxLagMarks)
	require.InEpsilon(t, maxLagMarks*time.Second, m.Lag(at(2000+10*maxLagMarks)).Time, 0.1)
}

// A reader that does not advance, as after an error that repeats, delays no one: waiting would not
// help it.
func TestLagMeter_StuckReaderDelaysNoOne(t *testing.T) {
	t.Parallel()
	start := time.Unix(1e9, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	var m lagMeter
	m.Grow(10, at(0))
	m.Reach(10)
	m.Grow(20, at(0))
	require.Equal(t, maxIngestDelay, m.IngestDelay(at(60)))
	require.Equal(t, maxIngestDelay, m.IngestDelay(at(70)))
	require.Zero(t, m.IngestDelay(at(60).Add(maxStall+time.Second)))
	require.Equal(t, int64(10), m.Lag(at(1000)).Rows)

	m.Reach(11) // slow, but not stuck
	require.Equal(t, maxIngestDelay, m.IngestDelay(at(1000)))
	m.Reach(20)
	require.Zero(t, m.IngestDelay(at(1001)))
	m.Grow(21, at(2000))
	require.Equal(t, maxIngestDelay, m.IngestDelay(at(2060)), "an hour without events is no stall")
}
