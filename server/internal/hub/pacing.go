package hub

import (
	"context"
	"time"
)

const (
	// pacingBurst may follow each other at once, and then one every pacingInterval: each is
	// a commit of its own, which the posters' have to wait for.
	pacingBurst    = 8
	pacingInterval = 25 * time.Millisecond
	// busyInterval is the least time from one step to the next when more than busyRows
	// rows came in the last one: a session is read and written once a step, however
	// many of its events are in it.
	busyInterval = 75 * time.Millisecond
	busyRows     = 32
)

// pacer is how fast Derive goes.
type pacer struct {
	due time.Time // of the next step, if none might follow at once
}

// batchTiming is one that was taken.
type batchTiming struct {
	began, ended time.Time
	rows         int64 // of the log
}

// nextStart is when the next step may begin.
func (p *pacer) nextStart(t batchTiming) time.Time {
	switch {
	case t.rows > busyRows && t.rows < projectorBatch:
		return t.began.Add(busyInterval)
	case t.rows == 0:
		return t.ended
	}
	if p.due.Before(t.began) {
		p.due = t.began
	}
	p.due = p.due.Add(pacingInterval)
	return p.due.Add(-pacingBurst * pacingInterval)
}

// sleep waits for some time or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
