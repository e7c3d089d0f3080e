package agentclient

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
)

// handleControl processes a control frame and reports whether frame was one. Unknown
// kinds are ignored.
func (p *pendingAsk) handleControl(frame []byte) bool {
	var control schema.Control
	if json.Unmarshal(frame, &control) != nil || control.Type != schema.ControlType {
		return false
	}
	if control.Kind != schema.ControlDeadline {
		return true
	}
	update := deadlineUpdate{receivedAt: time.Now(), remaining: waitDuration(control.InSeconds), never: control.ExpiresAt == 0}
	if update.remaining == 0 { // a hub that only sends the absolute time
		update.remaining = time.Until(time.UnixMilli(int64(control.ExpiresAt)))
	}
	p.queueDeadline(update)
	return true
}

// handleDeadlineHeader processes schema.ExpiresHeader of a pull without an answer.
func (p *pendingAsk) handleDeadlineHeader(header string) {
	if header == schema.Never {
		p.queueDeadline(deadlineUpdate{never: true})
		return
	}
	if n, err := strconv.ParseFloat(header, 64); err == nil && n > 0 {
		p.queueDeadline(deadlineUpdate{receivedAt: time.Now(), remaining: waitDuration(n)})
	}
}

// waitDuration converts seconds to a duration, limited to schema.MaxTimeout.
func waitDuration(n float64) time.Duration {
	return time.Duration(min(max(n, 0), schema.MaxTimeout.Seconds()) * float64(time.Second))
}

// queueDeadline passes an update to the Ask goroutine. It replaces an update that is
// still unread.
func (p *pendingAsk) queueDeadline(update deadlineUpdate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.deadlineUpdates:
	default:
	}
	p.deadlineUpdates <- update
}

// deadlineUpdate is the remaining time of a question, as reported by the hub.
type deadlineUpdate struct {
	receivedAt time.Time
	remaining  time.Duration
	never      bool // no deadline any more
}

// deadlineTimer fires when no answer can arrive any more. It uses the monotonic clock and
// adds a grace period for answers given at the last moment. Updates only extend it,
// because people can only add time.
type deadlineTimer struct {
	timeout, grace time.Duration
	timer          *time.Timer // nil: never fires
	expiresAt      time.Time
}

// newDeadlineTimer starts a timer. A timeout of 0 means that it never fires.
func newDeadlineTimer(timeout, grace time.Duration) *deadlineTimer {
	d := &deadlineTimer{timeout: timeout, grace: grace}
	if timeout > 0 {
		d.expiresAt = time.Now().Add(timeout + grace)
		d.timer = time.NewTimer(timeout + grace)
	}
	return d
}

// expired returns the channel on which the timer fires once, or nil if it never fires.
func (d *deadlineTimer) expired() <-chan time.Time {
	if d.timer == nil {
		return nil
	}
	return d.timer.C
}

// restart counts the full timeout from now.
func (d *deadlineTimer) restart() {
	d.extend(deadlineUpdate{receivedAt: time.Now(), remaining: d.timeout})
}

// extend applies an update of the hub.
func (d *deadlineTimer) extend(update deadlineUpdate) {
	if d.timer == nil {
		return
	}
	if update.never {
		d.stop()
		d.timer = nil
		return
	}
	if until := update.receivedAt.Add(update.remaining + d.grace); until.After(d.expiresAt) {
		d.expiresAt = until
		d.timer.Reset(time.Until(until))
	}
}

// stop releases the timer.
func (d *deadlineTimer) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
