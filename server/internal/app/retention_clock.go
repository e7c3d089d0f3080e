package app

import "time"

const (
	// maxClockJump is how far the clock may be ahead of the newest event when the hub starts, or
	// advance more than the hub has run.
	maxClockJump = 24 * time.Hour
	// clockTrial is how long the hub runs before it trusts a clock that jumped.
	clockTrial = time.Hour
)

// retentionClock decides whether retention may believe the wall clock. A clock that is 40 days ahead
// makes every event too old.
type retentionClock struct {
	expected time.Time // wall time at the last check, at first that of the newest event; zero: unknown
	checked  time.Time // monotonic time of the last check; zero: there was none
	doubted  time.Time // monotonic time since which the clock is in doubt; zero: it is not
	trusts   bool      // regardless of the clock
}

// check compares the wall clock with the time that has passed; running is monotonic. A new doubt
// comes with the size of the jump.
func (c *retentionClock) check(wall, running time.Time) (trusted bool, jump time.Duration) {
	wall = wall.Round(0) // without its monotonic part
	if c.trusts {
		return true, 0
	}
	if !c.expected.IsZero() {
		jump = wall.Sub(c.expected)
	}
	if !c.checked.IsZero() {
		jump -= running.Sub(c.checked)
	}
	c.expected, c.checked = wall, running
	if jump > maxClockJump {
		c.doubted = running
		return false, jump
	}
	return c.doubted.IsZero() || running.Sub(c.doubted) >= clockTrial, 0
}
