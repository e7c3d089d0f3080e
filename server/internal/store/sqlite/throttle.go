package sqlite

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hookback/hookback/server/internal/feed"
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
func (r *ingestRate) update(now time.Time, head int64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if elapsed := now.Sub(r.since); elapsed >= rateWindow {
		recent := float64(head-r.head) / elapsed.Seconds()
		r.rate = recent + (r.rate-recent)*math.Exp2(-elapsed.Seconds()/rateHalfLife.Seconds())
		r.since, r.head = now, head
	}
	return r.rate
}

func (s *engine) isOverloaded() bool {
	return s.ingestRate.update(time.Now(), s.head.Load()) > floodRate
}

func (s *engine) Throttle(ctx context.Context, worked time.Duration) {
	end := time.Now().Add(min(delayFactor*worked, maxDelay))
	for ctx.Err() == nil && s.isOverloaded() {
		remaining := time.Until(end)
		if remaining <= 0 {
			return
		}
		feed.Sleep(ctx, min(remaining, rateWindow)) // the loop checks ctx
	}
}
