// Package deadline has the timer of a pending request, which people can extend.
package deadline

import "time"

// Update is the remaining time of a question, as reported by the hub.
type Update struct {
	ReceivedAt time.Time
	Remaining  time.Duration
	Never      bool // no deadline any more
}

// Timer fires when no answer can arrive any more. It uses the monotonic clock and
// adds a grace period for answers given at the last moment. Updates only extend it,
// because people can only add time.
type Timer struct {
	timeout, grace time.Duration
	timer          *time.Timer // nil: never fires
	expiresAt      time.Time
}

// New starts a timer. A timeout of 0 means that it never fires.
func New(timeout, grace time.Duration) *Timer {
	d := &Timer{timeout: timeout, grace: grace}
	if timeout > 0 {
		d.expiresAt = time.Now().Add(timeout + grace)
		d.timer = time.NewTimer(timeout + grace)
	}
	return d
}

// Expired returns the channel on which the timer fires once, or nil if it never fires.
func (d *Timer) Expired() <-chan time.Time {
	if d.timer == nil {
		return nil
	}
	return d.timer.C
}

// Restart counts the full timeout from now.
func (d *Timer) Restart() { d.Extend(Update{ReceivedAt: time.Now(), Remaining: d.timeout}) }

// Extend applies an update of the hub.
func (d *Timer) Extend(update Update) {
	if d.timer == nil {
		return
	}
	if update.Never {
		d.Stop()
		d.timer = nil
		return
	}
	if until := update.ReceivedAt.Add(update.Remaining + d.grace); until.After(d.expiresAt) {
		d.expiresAt = until
		d.timer.Reset(time.Until(until))
	}
}

// Stop releases the timer.
func (d *Timer) Stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
