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

// A control frame notifies a version 2 listener that its question has a new deadline. It uses a
// separate connection with the same proof as an answer. It is not acknowledged: after
// maxControlAttempts its failure is only shown, because an agent that polls reads the same
// deadline. A failure of the store is no such attempt: the question stays queued until its result
// is recorded, so the agent may get the same deadline twice.

const (
	maxConcurrentControls = 8
	maxControlAttempts    = 5
	// storeRetryDelay is the delay after a failure of the store.
	storeRetryDelay = time.Second
)

// controlQueue holds the questions with unsent control frames; Dispatcher.mu guards it.
type controlQueue struct {
	ids     []schema.EventID
	running int
}

// queueControl queues the deadline of a question for its listener. It does not block.
func (d *Dispatcher) queueControl(id schema.EventID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addControlLocked(id)
	if d.ctx != nil && d.ctx.Err() == nil && d.controls.running < maxConcurrentControls {
		d.controls.running++
		d.workers.Go(func() { d.runControls(d.ctx) })
	}
}

func (d *Dispatcher) addControlLocked(id schema.EventID) {
	if !slices.Contains(d.controls.ids, id) { // the frame is built when it is sent, so one entry is enough
		d.controls.ids = append(d.controls.ids, id)
	}
}

// queueControls queues all deadlines that were not sent.
func (d *Dispatcher) queueControls(ctx context.Context) error {
	for last := schema.EventID(0); ; {
		listeners, err := d.Store.Listeners(ctx, last, listenerBatchSize)
		if err != nil || len(listeners) == 0 {
			return err
		}
		for _, q := range listeners {
			last = q.ID
			if hasUnsentDeadline(q.Status) {
				d.queueControl(q.ID)
			}
		}
	}
}

// hasUnsentDeadline reports whether a person moved the deadline and the agent does not know yet.
func hasUnsentDeadline(status []byte) bool {
	var st schema.Status
	return json.Unmarshal(status, &st) == nil && st.Extended != nil && st.Extended.Agent == schema.Queued
}

// runControls sends the queued deadlines until the queue is empty or ctx ends.
func (d *Dispatcher) runControls(ctx context.Context) {
	for {
		d.mu.Lock()
		if len(d.controls.ids) == 0 || ctx.Err() != nil {
			d.controls.running--
			d.mu.Unlock()
			return
		}
		id := d.controls.ids[0]
		d.controls.ids = d.controls.ids[1:]
		d.mu.Unlock()
		err := d.sendDeadline(ctx, id)
		if err == nil || ctx.Err() != nil || errors.Is(err, schema.ErrStopping) {
			continue
		}
		d.Log.Error("send of a new deadline failed", "event", id, "retry_in", storeRetryDelay, "err", err)
		d.mu.Lock()
		d.addControlLocked(id)
		d.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-d.after(storeRetryDelay):
		}
	}
}

// sendDeadline retries until the listener has the deadline or maxControlAttempts is reached.
func (d *Dispatcher) sendDeadline(ctx context.Context, id schema.EventID) error {
	for attempt := 1; ; attempt++ {
		q, err := d.Store.Question(ctx, id)
		if err != nil || q.State != schema.Pending || q.URL == "" || q.Protocol < 2 || !hasUnsentDeadline(q.Status) {
			return err // settled, or the agent polls, or the clock was set
		}
		if !dutyOf(d.Store).includes(q.Place) {
			return nil // another hub sends it
		}
		result := d.sendDeadlineOnce(ctx, q)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if result.state == schema.Delivered || result.state == schema.Refused || !result.retry || attempt == maxControlAttempts {
			return d.recordControl(ctx, q, result)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.after(d.retryDelay(attempt)):
		}
	}
}

// sendDeadlineOnce dials the listener and sends the control frame.
func (d *Dispatcher) sendDeadlineOnce(ctx context.Context, q *store.Question) attemptResult {
	target, err := d.DialPolicy.checkURL(q.URL)
	if err != nil {
		return attemptResult{state: schema.Blocked, problem: err.Error()}
	}
	if !dutyOf(d.Store).reaches(q.Place) {
		return attemptResult{state: schema.Unreachable, problem: "the agent is on another machine, whose hub is gone"}
	}
	if err := d.Hub.AwaitResponseSent(ctx, q.ID); err != nil {
		return attemptResult{state: schema.Unreachable}
	}
	conn, result := d.dial(ctx, target, q)
	if conn == nil {
		return result
	}
	defer conn.close(d.timeouts.close)
	frame := schema.Control{Type: schema.ControlType, Kind: schema.ControlDeadline}
	if !q.Deadline.IsZero() {
		frame.ExpiresAt = schema.Millis(q.Deadline.UnixMilli())
		frame.InSeconds = max(q.Deadline.Sub(d.Clock()), 0).Seconds()
	}
	b, err := json.Marshal(frame)
	if err != nil {
		return attemptResult{state: schema.Unreachable, problem: "the deadline can't be encoded"}
	}
	writeCtx, cancel := context.WithTimeout(ctx, d.timeouts.write)
	defer cancel()
	if err := conn.ws.Write(writeCtx, websocket.MessageText, b); err != nil {
		return attemptResult{state: schema.Unreachable, retry: true, problem: "the connection to " + conn.host + " broke while the deadline was sent"}
	}
	timer := time.NewTimer(d.timeouts.idle)
	defer timer.Stop()
	select { // a listener closes after it has read the frame
	case <-conn.done:
	case <-timer.C:
		return attemptResult{state: schema.Delivered} // it keeps the connection open; we close it
	case <-ctx.Done():
		return attemptResult{state: schema.Unreachable}
	}
	if code := websocket.CloseStatus(conn.err); code != websocket.StatusNormalClosure &&
		code != websocket.StatusNoStatusRcvd && code != websocket.StatusGoingAway {
		return attemptResult{state: schema.Unreachable, retry: true, problem: conn.describeClose() + " after the deadline was sent"}
	}
	return attemptResult{state: schema.Delivered}
}

// recordControl stores in the question's status whether the agent has the new deadline.
func (d *Dispatcher) recordControl(ctx context.Context, q *store.Question, result attemptResult) error {
	sent := q.Deadline
	for range maxConflictRetries {
		var st schema.Status
		if err := json.Unmarshal(q.Status, &st); err != nil || st.Extended == nil || q.State != schema.Pending || !q.Deadline.Equal(sent) {
			return err // settled, or a newer deadline is queued
		}
		_, err := d.updateStatus(ctx, q, nil, func(st *schema.Status) {
			extension := *st.Extended
			extension.Agent, extension.Error = result.state, result.problem
			st.Extended = &extension
		})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if q, err = d.Store.Question(ctx, q.ID); err != nil {
			return err
		}
	}
	return errConflictRetries
}
