package store

import (
	"context"
	"math"
	"sync"
	"time"
)

const (
	// floodRate is the overload threshold in rows per second. Above it, posters wait for
	// the processor.
	floodRate = 2500
	// rateWindow is the minimum sampling interval and rateHalfLife the half-life of the
	// moving average: a single batch is no overload, and a slow flush does not end one.
	rateWindow   = 20 * time.Millisecond
	rateHalfLife = 100 * time.Millisecond
	// During an overload, background readers work 1/delayFactor of the time, and continue
	// after maxDelay at the latest.
	delayFactor = 50
	maxDelay    = 2 * time.Second
)

// ingestRate is a moving average of the log's growth.
type ingestRate struct {
	mu    sync.Mutex
	since time.Time
	head  int64 // log head at that time
	rate  float64
}

// update records the log's head at now and returns the current rate in rows per second.
func (f *ingestRate) update(now time.Time, head int64) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if elapsed := now.Sub(f.since); elapsed >= rateWindow {
		recent := float64(head-f.head) / elapsed.Seconds()
		f.rate = recent + (f.rate-recent)*math.Exp2(-elapsed.Seconds()/rateHalfLife.Seconds())
		f.since, f.head = now, head
	}
	return f.rate
}

func (s *Store) isOverloaded() bool {
	return s.ingestRate.update(time.Now(), s.head.Load()) > floodRate
}

// Throttle delays a background reader while events arrive faster than floodRate, so that
// posters get the processor. The delay is proportional to worked, at most maxDelay, and
// ends soon after the overload. Throttle returns immediately without an overload.
func (s *Store) Throttle(ctx context.Context, worked time.Duration) {
	end := time.Now().Add(min(delayFactor*worked, maxDelay))
	for ctx.Err() == nil && s.isOverloaded() {
		remaining := time.Until(end)
		if remaining <= 0 {
			return
		}
		_ = sleep(ctx, min(remaining, rateWindow)) // the loop checks ctx
	}
}
