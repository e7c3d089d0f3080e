package agentclient

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
)

// deadlineUpdate is how long a question waits from now on, as the hub says.
type deadlineUpdate struct {
	receivedAt time.Time
	remaining  time.Duration
	never      bool // ends
}

// deadline fires when an answer can't come any more: by this machine's monotonic
// clock, and late enough for one that was given in the last moment. It is only ever
// moved back: a person gives more time, and takes none.
type deadline struct {
	timeout, grace time.Duration
	timer          *time.Timer // nil: never
	expiresAt      time.Time
}

func newDeadline(timeout, grace time.Duration) *deadline {
	d := &deadline{timeout: timeout, grace: grace}
	if timeout > 0 {
		d.expiresAt = time.Now().Add(timeout + grace)
		d.timer = time.NewTimer(timeout + grace)
	}
	return d
}

func (d *deadline) expired() <-chan time.Time {
	if d.timer == nil {
		return nil
	}
	return d.timer.C
}

// restart counts the whole timeout from now.
func (d *deadline) restart() { d.extend(deadlineUpdate{receivedAt: time.Now(), remaining: d.timeout}) }

func (d *deadline) extend(update deadlineUpdate) {
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

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// handleControl takes a frame that is no answer, and reports whether it is one. Kinds that
// nobody knows here are passed over.
func (w *pendingAsk) handleControl(frame []byte) bool {
	var control schema.Control
	if json.Unmarshal(frame, &control) != nil || control.Type != schema.ControlType {
		return false
	}
	if control.Kind != schema.ControlDeadline {
		return true
	}
	update := deadlineUpdate{receivedAt: time.Now(), remaining: waitDuration(control.InSeconds), never: control.ExpiresAt == 0}
	if update.remaining == 0 { // a hub that says no more than when
		update.remaining = time.Until(time.UnixMilli(int64(control.ExpiresAt)))
	}
	w.queueDeadline(update)
	return true
}

// handleDeadlineHeader takes the header of a pull without an answer.
func (w *pendingAsk) handleDeadlineHeader(header string) {
	if header == schema.Never {
		w.queueDeadline(deadlineUpdate{never: true})
		return
	}
	if n, err := strconv.ParseFloat(header, 64); err == nil && n > 0 {
		w.queueDeadline(deadlineUpdate{receivedAt: time.Now(), remaining: waitDuration(n)})
	}
}

// waitDuration is a duration, no longer than a question can wait.
func waitDuration(n float64) time.Duration {
	return time.Duration(min(max(n, 0), schema.MaxTimeout.Seconds()) * float64(time.Second))
}

// queueDeadline leaves word of how long the question waits; the last one counts.
func (w *pendingAsk) queueDeadline(update deadlineUpdate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.deadlineUpdates:
	default:
	}
	w.deadlineUpdates <- update
}
