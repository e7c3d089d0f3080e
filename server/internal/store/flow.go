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
	// flowSpan is the least time over which the rate is taken, flowHalf is when what
	// came counts half: a batch is no flood, and a slow flush does not end one.
	flowSpan = 20 * time.Millisecond
	flowHalf = 100 * time.Millisecond
	// Work behind the log takes one part in yieldTimes of the time of a flood, and
	// goes on after yieldMost at the latest.
	yieldTimes = 50
	yieldMost  = 2 * time.Second
)

// flow is how fast the log grows.
type flow struct {
	mu    sync.Mutex
	since time.Time
	head  int64 // then
	rate  float64
}

// at notes where the log is now, and returns how many rows a second came lately.
func (f *flow) at(now time.Time, head int64) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if span := now.Sub(f.since); span >= flowSpan {
		lately := float64(head-f.head) / span.Seconds()
		f.rate = lately + (f.rate-lately)*math.Exp2(-span.Seconds()/flowHalf.Seconds())
		f.since, f.head = now, head
	}
	return f.rate
}

func (s *Store) flooded() bool { return s.flow.at(time.Now(), s.head.Load()) > floodRate }

// Throttle is called by what reads behind the log after a piece of work that took
// so long. While events flood in it returns late, so that posters have the
// processor; else at once, and soon after a flood has ended.
func (s *Store) Throttle(ctx context.Context, worked time.Duration) {
	end := time.Now().Add(min(yieldTimes*worked, yieldMost))
	for ctx.Err() == nil && s.flooded() {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		_ = pause(ctx, min(left, flowSpan)) // the loop looks at ctx
	}
}
