package store

import (
	"context"
	"math"
	"sync"
	"time"
)

const (
	// floodRate is how many rows a second are a flood: then the processor is what
	// posters wait for.
	floodRate = 2500
	// rateWindow is the least time over which the rate is taken, rateHalfLife is when what
	// came counts half: a batch is no flood, and a slow flush does not end one.
	rateWindow   = 20 * time.Millisecond
	rateHalfLife = 100 * time.Millisecond
	// Work behind the log takes one part in delayFactor of the time of a flood, and
	// goes on after maxDelay at the latest.
	delayFactor = 50
	maxDelay    = 2 * time.Second
)

// ingestRate is how fast the log grows.
type ingestRate struct {
	mu    sync.Mutex
	since time.Time
	head  int64 // then
	rate  float64
}

// update notes where the log is now, and returns how many rows a second came lately.
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

// Throttle is called by what reads behind the log after a piece of work that took
// so long. While events flood in it returns late, so that posters have the
// processor; else at once, and soon after a flood has ended.
func (s *Store) Throttle(ctx context.Context, worked time.Duration) {
	end := time.Now().Add(min(delayFactor*worked, maxDelay))
	for ctx.Err() == nil && s.isOverloaded() {
		remaining := time.Until(end)
		if remaining <= 0 {
			return
		}
		_ = sleep(ctx, min(remaining, rateWindow)) // the loop looks at ctx
	}
}
