package hub

import (
	"context"
	"time"
)

const (
	// paceSteps may follow each other at once, and then one every paceRest: each is
	// a commit of its own, which the posters' have to wait for.
	paceSteps = 8
	paceRest  = 25 * time.Millisecond
	// paceBusy is the least time from one step to the next when more than paceMany
	// rows came in the last one: a session is read and written once a step, however
	// many of its events are in it.
	paceBusy = 75 * time.Millisecond
	paceMany = 32
)

// pace is how fast Derive goes.
type pace struct {
	due time.Time // of the next step, if none might follow at once
}

// step is one that was taken.
type step struct {
	began, ended time.Time
	rows         int64 // of the log
}

// after is when the next step may begin.
func (p *pace) after(s step) time.Time {
	switch {
	case s.rows > paceMany && s.rows < deriveStep:
		return s.began.Add(paceBusy)
	case s.rows == 0:
		return s.ended
	}
	if p.due.Before(s.began) {
		p.due = s.began
	}
	p.due = p.due.Add(paceRest)
	return p.due.Add(-paceSteps * paceRest)
}

// rest waits for some time or the end of ctx.
func rest(ctx context.Context, d time.Duration) {
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
