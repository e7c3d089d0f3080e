package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A control tells a version 2 listener that its question has another deadline now. It
// goes out on a connection of its own, after the same proof as an answer, and is not
// acknowledged: who pulls meanwhile learns the same. So it is tried a few times, and
// its failure shown; nothing hangs on it.

const (
	controlsAtATime = 8
	controlTries    = 5
)

// controls are those under way; guarded by Dispatcher.mu.
type controls struct {
	queue   []schema.EventID
	running int
}

// Control tells the listener of a pending question how long it has now. It does not
// block.
func (d *Dispatcher) Control(id schema.EventID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.controls.queue, id) { // it tells what is true when it goes out
		d.controls.queue = append(d.controls.queue, id)
	}
	if d.ctx != nil && d.ctx.Err() == nil && d.controls.running < controlsAtATime {
		d.controls.running++
		d.workers.Go(func() { d.control(d.ctx) })
	}
}

// resumeControls takes up those that were not told before the hub stopped.
func (d *Dispatcher) resumeControls(ctx context.Context) error {
	for last := schema.EventID(0); ; {
		waiting, err := d.Store.Listeners(ctx, last, watchedPerRound)
		if err != nil || len(waiting) == 0 {
			return err
		}
		for _, q := range waiting {
			last = q.ID
			var st schema.Status
			if err := json.Unmarshal(q.Status, &st); err != nil {
				return err
			}
			if st.Extended != nil && st.Extended.Agent == schema.Queued {
				d.Control(q.ID)
			}
		}
	}
}

// control works the queue off.
func (d *Dispatcher) control(ctx context.Context) {
	for {
		d.mu.Lock()
		if len(d.controls.queue) == 0 || ctx.Err() != nil {
			d.controls.running--
			d.mu.Unlock()
			return
		}
		id := d.controls.queue[0]
		d.controls.queue = d.controls.queue[1:]
		d.mu.Unlock()
		if err := d.tellDeadline(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, schema.ErrStopping) {
			d.Log.Error("telling an agent of its new deadline", "event", id, "err", err)
		}
	}
}

// tellDeadline tries until the listener has it, or it has been tried often enough.
func (d *Dispatcher) tellDeadline(ctx context.Context, id schema.EventID) error {
	for try := 1; ; try++ {
		q, err := d.Store.Question(ctx, id)
		if err != nil || q.State != schema.Pending || q.URL == "" || q.Protocol < 2 {
			return err // the answer is on its way, or whoever asks pulls
		}
		o := d.controlOnce(ctx, q)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if o.state == schema.Delivered || !o.retry || try == controlTries {
			return d.noteControl(ctx, q, o)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.after(d.delay(try)):
		}
	}
}

// controlOnce dials and says it.
func (d *Dispatcher) controlOnce(ctx context.Context, q *store.Question) outcome {
	target, err := d.DialPolicy.parse(q.URL)
	if err != nil {
		return outcome{state: schema.Blocked, problem: err.Error()}
	}
	if err := d.AwaitResponseSent(ctx, q.ID); err != nil {
		return outcome{state: schema.Unreachable}
	}
	l, o := d.dial(ctx, target, q)
	if l == nil {
		return o
	}
	defer l.hangUp(d.timing.goodbye)
	frame := schema.Control{Type: schema.ControlType, Kind: schema.ControlDeadline}
	if !q.Deadline.IsZero() {
		frame.ExpiresAt = schema.Millis(q.Deadline.UnixMilli())
		frame.InSeconds = max(q.Deadline.Sub(d.Clock()), 0).Seconds()
	}
	b, err := json.Marshal(frame)
	if err != nil {
		return outcome{state: schema.Unreachable, problem: "the deadline could not be encoded"}
	}
	writing, cancel := context.WithTimeout(ctx, d.timing.write)
	defer cancel()
	if err := l.ws.Write(writing, websocket.MessageText, b); err != nil {
		return outcome{state: schema.Unreachable, retry: true, problem: "the connection to " + l.host + " broke while it was told"}
	}
	patience := time.NewTimer(d.timing.silence)
	defer patience.Stop()
	select { // it closes when it has read it
	case <-l.done:
	case <-patience.C:
		return outcome{state: schema.Delivered} // it keeps the line; we hang up
	case <-ctx.Done():
		return outcome{state: schema.Unreachable}
	}
	if code := websocket.CloseStatus(l.err); code != websocket.StatusNormalClosure && code != websocket.StatusNoStatusRcvd && code != websocket.StatusGoingAway {
		return outcome{state: schema.Unreachable, retry: true, problem: l.ending() + " when it was told"}
	}
	return outcome{state: schema.Delivered}
}

// noteControl shows on the question whether its agent knows.
func (d *Dispatcher) noteControl(ctx context.Context, q *store.Question, o outcome) error {
	for range maxRaces {
		var st schema.Status
		if err := json.Unmarshal(q.Status, &st); err != nil || st.Extended == nil || q.State != schema.Pending {
			return err
		}
		_, err := d.change(ctx, q, nil, func(st *schema.Status) {
			told := *st.Extended
			told.Agent, told.Error = o.state, o.problem
			st.Extended = &told
		})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if q, err = d.Store.Question(ctx, q.ID); err != nil {
			return err
		}
	}
	return errRaces
}
