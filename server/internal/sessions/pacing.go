package sessions

import "time"

const (
	// pacingBurst steps may run back to back, then one per pacingInterval (token bucket).
	// Each step is a commit, and the commits of posters wait for it.
	pacingBurst    = 8
	pacingInterval = 25 * time.Millisecond
	// busyInterval is the minimum time between the starts of two steps if the last one
	// read more than busyRows rows but not a full batch, after which more rows wait. A step
	// reads and writes each session once, however many events it has, so larger steps are
	// cheaper.
	busyInterval = 75 * time.Millisecond
	busyRows     = 32
)

// pacer limits the rate of projection steps.
type pacer struct {
	due time.Time // theoretical arrival time of the next step, without bursts
}

// batchTiming describes one finished step.
type batchTiming struct {
	began, ended time.Time
	rows         int64 // log rows read
}

// nextStart returns when the next step may start.
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
