package store

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	require.Less(t, after(0, head), 1.0, "a log that is long is no flood")
	head += 500
	require.Less(t, after(time.Millisecond, head), 1.0, "not long enough to tell")
	require.Less(t, after(rateHalfLife, head), float64(floodRate), "a batch is no flood")
	require.Zero(t, math.Round(after(time.Minute, head)))
	began := at
	for rate := 0.0; rate < floodRate; rate = after(rateWindow, head) {
		head += 10_000 * rateWindow.Milliseconds() / 1000
	}
	require.LessOrEqual(t, at.Sub(began), rateHalfLife, "a flood is noticed soon")
	for range 100 {
		head += 10_000 * rateWindow.Milliseconds() / 1000
		require.Greater(t, after(rateWindow, head), float64(floodRate))
	}
	require.Greater(t, after(rateHalfLife, head), float64(floodRate), "a slow flush is not its end")
	require.Less(t, after(2*rateHalfLife, head), float64(floodRate), "it is over")
	require.InEpsilon(t, 1, after(time.Hour, head+3600), 0.01)
}

// Throttle waits for as long as the flood lasts, but not for ever.
func TestThrottle_WaitsWhileOverloaded(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	quiet := time.Now()
	b.Throttle(t.Context(), time.Hour)
	require.Less(t, time.Since(quiet), maxDelay, "nothing comes in")

	var flooding atomic.Bool
	flooding.Store(true)
	done := make(chan struct{})
	go func() { // as a writer would be that nothing slows down
		defer close(done)
		for flooding.Load() {
			b.head.Add(1000)
			_ = sleep(t.Context(), time.Millisecond)
		}
	}()
	require.Eventually(t, b.isOverloaded, callbackRetryWindow, time.Millisecond)
	start := time.Now()
	b.Throttle(t.Context(), time.Millisecond)
	require.GreaterOrEqual(t, time.Since(start), delayFactor*time.Millisecond)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	b.Throttle(stopped, time.Hour)
	start = time.Now()
	b.Throttle(t.Context(), time.Hour)
	require.GreaterOrEqual(t, time.Since(start), maxDelay)
	flooding.Store(false)
	<-done
	require.Eventually(t, func() bool { return !b.isOverloaded() }, callbackRetryWindow, time.Millisecond)
}
