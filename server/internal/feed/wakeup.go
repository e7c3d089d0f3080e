package feed

import (
	"context"
	"time"
)

// Wakeup wakes one worker that waits for work from its own process. Wakes while the worker is
// busy count as one. A nil Wakeup never wakes anyone.
type Wakeup chan struct{}

// NewWakeup returns a Wakeup.
func NewWakeup() Wakeup { return make(Wakeup, 1) }

// Wake wakes the worker. It does not block.
func (w Wakeup) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Wait blocks for d, or until Wake is called. It returns false if ctx ended first.
func (w Wakeup) Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w:
	case <-ctx.Done():
		return false
	}
	return true
}

// Sleep blocks for d, if it is positive. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	return Wakeup(nil).Wait(ctx, d)
}
