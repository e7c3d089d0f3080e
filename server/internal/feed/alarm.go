package feed

import (
	"context"
	"time"
)

// Alarm wakes one worker that waits for work from its own process. Rings while the worker is
// busy count as one. A nil Alarm never rings.
type Alarm chan struct{}

// NewAlarm returns an alarm.
func NewAlarm() Alarm { return make(Alarm, 1) }

// Ring wakes the worker. It does not block.
func (a Alarm) Ring() {
	select {
	case a <- struct{}{}:
	default:
	}
}

// Wait blocks for d, or until the alarm rings. It returns false if ctx ended first.
func (a Alarm) Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a:
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
	return Alarm(nil).Wait(ctx, d)
}
