package sqlite

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/server/internal/feed"
)

func TestIngestRate_DetectsOverload(t *testing.T) {
	t.Parallel()
	var f ingestRate
	at := time.Unix(1e9, 0)
	after := func(d time.Duration, head int64) float64 {
		at = at.Add(d)
		return f.update(at, head)
	}
	head := int64(1_000_000)
	require.Less(t, after(0, head), 1.0, "a long log is no overload")
	head += 500
	require.Less(t, after(time.Millisecond, head), 1.0, "shorter than the sampling interval")
	require.Less(t, after(rateHalfLife, head), float64(floodRate), "a single batch is no overload")
	require.Zero(t, math.Round(after(time.Minute, head)))
	began := at
	for rate := 0.0; rate < floodRate; rate = after(rateWindow, head) {
		head += 10_000 * rateWindow.Milliseconds() / 1000
	}
	require.LessOrEqual(t, at.Sub(began), rateHalfLife, "an overload is detected within the half-life")
	for range 100 {
		head += 10_000 * rateWindow.Milliseconds() / 1000
		require.Greater(t, after(rateWindow, head), float64(floodRate))
	}
	require.Greater(t, after(rateHalfLife, head), float64(floodRate), "a slow flush does not end it")
	require.Less(t, after(2*rateHalfLife, head), float64(floodRate), "the overload has ended")
	require.InEpsilon(t, 1, after(time.Hour, head+3600), 0.01)
}

// The clock of the synctest bubble makes the delays exact.
func TestThrottle_WaitsWhileOverloaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &engine{}
		delayOf := func(ctx context.Context, worked time.Duration) time.Duration {
			start := time.Now()
			s.Throttle(ctx, worked)
			return time.Since(start)
		}
		require.Zero(t, delayOf(t.Context(), time.Hour), "the log does not grow")

		var flooding atomic.Bool
		flooding.Store(true)
		go func() { // a writer that nothing slows down
			for flooding.Load() {
				s.head.Add(1000)
				feed.Sleep(t.Context(), time.Millisecond)
			}
		}()
		<-time.After(rateHalfLife) // fake clock
		require.True(t, s.isOverloaded())
		require.Equal(t, delayFactor*time.Millisecond, delayOf(t.Context(), time.Millisecond))
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		require.Zero(t, delayOf(stopped, time.Hour))
		require.Equal(t, maxDelay, delayOf(t.Context(), time.Hour))

		time.AfterFunc(rateHalfLife, func() { flooding.Store(false) })
		require.Less(t, delayOf(t.Context(), time.Hour), maxDelay, "the delay ends with the overload")
		require.False(t, s.isOverloaded())
	})
}
