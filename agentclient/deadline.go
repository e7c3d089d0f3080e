package agentclient

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
)

// lasts is how long a question waits from now on, as the hub says.
type lasts struct {
	from  time.Time
	whole time.Duration
	never bool // ends
}

// deadline fires when an answer can't come any more: by this machine's monotonic
// clock, and late enough for one that was given in the last moment. It is only ever
// moved back: a person gives more time, and takes none.
type deadline struct {
	timeout, grace time.Duration
	timer          *time.Timer // nil: never
	until          time.Time
}

func newDeadline(timeout, grace time.Duration) *deadline {
	d := &deadline{timeout: timeout, grace: grace}
	if timeout > 0 {
		d.until = time.Now().Add(timeout + grace)
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
func (d *deadline) restart() { d.move(lasts{from: time.Now(), whole: d.timeout}) }

func (d *deadline) move(l lasts) {
	if d.timer == nil {
		return
	}
	if l.never {
		d.stop()
		d.timer = nil
		return
	}
	if until := l.from.Add(l.whole + d.grace); until.After(d.until) {
		d.until = until
		d.timer.Reset(time.Until(until))
	}
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// control takes a frame that is no answer, and reports whether it is one. Kinds that
// nobody knows here are passed over.
func (w *waiter) control(frame []byte) bool {
	var c schema.Control
	if json.Unmarshal(frame, &c) != nil || c.Type != schema.ControlType {
		return false
	}
	if c.Kind != schema.ControlDeadline {
		return true
	}
	l := lasts{from: time.Now(), whole: secondsOf(c.InSeconds), never: c.ExpiresAt == 0}
	if l.whole == 0 { // a hub that says no more than when
		l.whole = time.Until(time.UnixMilli(int64(c.ExpiresAt)))
	}
	w.move(l)
	return true
}

// expires takes the header of a pull without an answer.
func (w *waiter) expires(header string) {
	if header == schema.Never {
		w.move(lasts{never: true})
		return
	}
	if n, err := strconv.ParseFloat(header, 64); err == nil && n > 0 {
		w.move(lasts{from: time.Now(), whole: secondsOf(n)})
	}
}

// secondsOf is a duration, no longer than a question can wait.
func secondsOf(n float64) time.Duration {
	return time.Duration(min(max(n, 0), schema.MaxTimeout.Seconds()) * float64(time.Second))
}

// move leaves word of how long the question waits; the last one counts.
func (w *waiter) move(l lasts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.moved:
	default:
	}
	w.moved <- l
}
