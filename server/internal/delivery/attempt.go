package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// attemptResult is the result of one attempt.
type attemptResult struct {
	state       schema.DeliveryState
	confirmedBy string // evidence from a version 1 listener: "close" or "write"
	problem     string // readable text; never contains the path of the URL
	retry       bool   // another attempt may succeed
}

// runAttempt makes one attempt at a delivery, if it is due, and records the result. On an error
// the row is unchanged. If the listener has no free slot, nothing was done, and the delivery is
// attempted again when a slot is free.
func (d *Dispatcher) runAttempt(ctx context.Context, id schema.EventID, p *place) error {
	q, err := d.Store.Question(ctx, id)
	if err != nil {
		return err
	}
	if !isDue(q, d.Clock()) {
		return nil
	}
	if result, done := d.finishUndialable(q); done {
		return d.recordResult(ctx, q, q.Delivery.Attempts, result)
	}
	if !dutyOf(d.Store).reaches(q.Place) {
		return nil // a hub of its machine sends it, or the agent pulls it
	}
	target, err := d.DialPolicy.checkURL(q.URL)
	if err != nil {
		return d.recordResult(ctx, q, q.Delivery.Attempts, attemptResult{state: schema.Blocked, problem: err.Error()})
	}
	if !p.acquireSlots(q.URL, target.hostPort()) {
		return nil
	}
	if err := d.awaitResponse(ctx, q); err != nil {
		return err
	}
	return d.dialAndSend(ctx, q, target, p)
}

// isDue reports whether an attempt at q's delivery is due.
func isDue(q *store.Question, now time.Time) bool {
	return isOpen(q.Delivery) && !q.Delivery.Due.After(now)
}

// isOpen reports whether the delivery is neither finished nor given up.
func isOpen(d *store.Delivery) bool {
	if d == nil || d.Due.IsZero() || !d.Handled.IsZero() {
		return false
	}
	switch d.State {
	case schema.NoDelivery, schema.Delivered, schema.Acked, schema.Pulled, schema.Fetched, schema.TooLate, schema.Blocked:
		return false
	default:
		return true
	}
}

// finishUndialable returns the final result of a delivery that must not be dialed anymore.
func (d *Dispatcher) finishUndialable(q *store.Question) (result attemptResult, done bool) {
	switch {
	case q.Delivery.Sent:
		return attemptResult{state: schema.Unconfirmed, problem: "the hub stopped while sending the answer; the agent may or may not have received it"}, true
	case q.URL == "":
		return attemptResult{state: schema.NoDelivery}, true
	case !q.Delivery.Until.IsZero() && d.Clock().After(q.Delivery.Until):
		return attemptResult{state: finalState(q.Delivery.State), problem: "no listener accepted the answer within its retry window"}, true
	default:
		return attemptResult{}, false
	}
}

// finalState returns the final state of a delivery that is given up in state s.
func finalState(s schema.DeliveryState) schema.DeliveryState {
	switch s {
	case schema.Unconfirmed, schema.Refused:
		return s
	default:
		return schema.Unreachable
	}
}

// dialAndSend dials the target, sends the answer and records the result.
func (d *Dispatcher) dialAndSend(ctx context.Context, q *store.Question, to target, p *place) error {
	attempt := q.Delivery.Attempts + 1
	conn, result := d.dial(ctx, to, q)
	if conn == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		return d.recordResult(ctx, q, attempt, result)
	}
	defer func() {
		if ctx.Err() != nil {
			conn.close(0)
		} else {
			conn.close(d.timeouts.close)
		}
	}()
	if q.Protocol >= 2 {
		result, err := conn.sendV2(ctx, buildFrame(q, attempt), d.timeouts, p.free)
		if err != nil {
			return err
		}
		return d.recordResult(ctx, q, attempt, result)
	}
	return d.sendV1Once(ctx, q, conn, attempt, p)
}

// sendV1Once sends the answer to a version 1 listener. From the first byte on there is no second
// attempt, so it does not end with ctx; it takes a few seconds at most.
func (d *Dispatcher) sendV1Once(ctx context.Context, q *store.Question, conn *listenerConn, number int, p *place) error {
	frame := buildFrame(q, number) // built before markSent, to keep the time between the mark and the write short
	q, err := d.markSent(ctx, q, number)
	if err != nil || q == nil {
		return err
	}
	if reason, closed := conn.closed(); closed {
		// The listener went away before a byte was written, so it can't have the answer.
		q.Delivery.Sent = false
		return d.recordResult(ctx, q, number, attemptResult{state: schema.Unreachable, retry: true, problem: reason + " before anything was sent"})
	}
	return d.recordResult(ctx, q, number, conn.sendV1(frame, d.timeouts, p.free))
}

// maxConflictRetries bounds the retries of a write after store.ErrConflict (optimistic
// concurrency).
const maxConflictRetries = 16

// errConflictRetries means that the question changed during every retry.
var errConflictRetries = errors.New("the question changed during every retry")

// markSent records that the answer is about to be sent to a version 1 listener. It returns nil
// if the delivery changed in the meantime, because the agent pulled the answer or named another
// URL.
func (d *Dispatcher) markSent(ctx context.Context, q *store.Question, number int) (*store.Question, error) {
	for range maxConflictRetries {
		delivery := *q.Delivery
		delivery.Sent, delivery.State, delivery.Attempts = true, schema.Sending, number
		marked, err := d.applyDelivery(ctx, q, &delivery, &schema.Delivery{State: schema.Sending, Attempts: number})
		if !errors.Is(err, store.ErrConflict) {
			return marked, err
		}
		url := q.URL
		if q, err = d.Store.Question(ctx, q.ID); err != nil {
			return nil, err
		}
		if !isOpen(q.Delivery) || q.URL != url {
			return nil, d.reschedule(ctx, q)
		}
	}
	return nil, errConflictRetries
}

// recordResult stores the result of an attempt and the time of the next one.
func (d *Dispatcher) recordResult(ctx context.Context, q *store.Question, number int, result attemptResult) error {
	sent := q.Delivery.Sent
	for range maxConflictRetries {
		delivery, visible := d.nextDelivery(q, number, result)
		delivery.Sent = sent
		_, err := d.applyDelivery(ctx, q, delivery, visible)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		url := q.URL
		if q, err = d.Store.Question(ctx, q.ID); err != nil {
			return err
		}
		switch {
		case q.Delivery == nil || q.Delivery.State == schema.Acked || q.Delivery.State == schema.Pulled,
			q.Delivery.State == schema.TooLate && !sent: // a newer question shares the listener
			return nil // the stored state is more reliable than this result
		case q.URL != url && result.state != schema.Acked && !sent:
			return d.reschedule(ctx, q)
		}
	}
	return errConflictRetries
}

// reschedule releases the lease of a delivery whose agent has named a new URL, so that it is due
// there immediately.
func (d *Dispatcher) reschedule(ctx context.Context, q *store.Question) error {
	if !isOpen(q.Delivery) {
		return nil
	}
	delivery := *q.Delivery
	delivery.Leased, delivery.Due = time.Time{}, d.Clock()
	_, err := d.applyDelivery(ctx, q, &delivery, &schema.Delivery{State: delivery.State, Attempts: delivery.Attempts})
	if errors.Is(err, store.ErrConflict) {
		return nil // the lease expires by itself
	}
	return err
}

// nextDelivery returns the delivery after an attempt, as stored in the outbox and as visible in
// the status.
func (d *Dispatcher) nextDelivery(q *store.Question, number int, result attemptResult) (*store.Delivery, *schema.Delivery) {
	now := d.Clock()
	if (result.state == schema.Unreachable || result.state == schema.Refused) && resolvedByAgent(q) {
		result.state, result.retry = schema.NoDelivery, false
	}
	stored := *q.Delivery
	stored.State, stored.Attempts, stored.Leased, stored.Due = result.state, number, time.Time{}, time.Time{}
	visible := &schema.Delivery{State: result.state, Attempts: number, Confirmed: result.confirmedBy, LastError: result.problem}
	switch result.state {
	case schema.Delivered, schema.Acked:
		visible.DeliveredAt = schema.Millis(now.UnixMilli())
	}
	delay := d.retryDelay
	if result.state == schema.Refused {
		delay = d.refusalDelay
	}
	if at := now.Add(delay(number)); result.retry && stored.Handled.IsZero() && (stored.Until.IsZero() || at.Before(stored.Until)) {
		stored.Due = at
		visible.NextAttemptAt = schema.Millis(at.UnixMilli())
	}
	return &stored, visible
}

// resolvedByAgent reports whether the question was answered at the agent. The agent then has
// the outcome, so an unreachable hook, or another program at its port, is not an undelivered
// answer.
func resolvedByAgent(q *store.Question) bool {
	var st schema.Status
	return json.Unmarshal(q.Status, &st) == nil && (st.Source == schema.ByAgent || st.Source == schema.ByDismissal)
}

// retryDelays are the delays after the first attempts. The last one applies to the attempts of
// about five minutes (fastAttempts), then slowRetryDelay does: every attempt is a row of the
// log, and an agent that has been gone for minutes can wait a minute longer.
var retryDelays = []time.Duration{
	200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
}

const (
	fastAttempts   = 35
	slowRetryDelay = time.Minute
)

func (d *Dispatcher) retryDelay(attempts int) time.Duration {
	pause := retryDelays[min(max(attempts, 1), len(retryDelays))-1]
	if attempts > fastAttempts {
		pause = slowRetryDelay
	}
	return time.Duration(float64(pause) * d.jitter())
}

// refusalDelay is the retryDelay after a refusal. A server that refuses is up, so slowRetryDelay
// follows the first delays. It may be a proxy whose agent is still starting, or another program on
// the port of an agent that restarts, so a refusal is not final.
func (d *Dispatcher) refusalDelay(attempts int) time.Duration {
	if attempts > len(retryDelays) {
		attempts = fastAttempts + 1
	}
	return d.retryDelay(attempts)
}

// applyDelivery stores the delivery, both in the outbox and in the question's visible status. It
// returns the changed question.
func (d *Dispatcher) applyDelivery(
	ctx context.Context, q *store.Question, stored *store.Delivery, visible *schema.Delivery,
) (*store.Question, error) {
	if !stored.Handled.IsZero() {
		visible.HandledAt = schema.Millis(stored.Handled.UnixMilli())
	}
	after, err := d.updateStatus(ctx, q, stored, func(st *schema.Status) { st.Delivery = visible })
	if err != nil {
		return nil, err
	}
	after.Delivery = stored
	return after, nil
}

// updateStatus edits the question's status and stores it, together with the delivery unless
// stored is nil. It returns the changed question, or store.ErrConflict if q is outdated.
func (d *Dispatcher) updateStatus(
	ctx context.Context, q *store.Question, stored *store.Delivery, edit func(*schema.Status),
) (*store.Question, error) {
	var st schema.Status
	if err := json.Unmarshal(q.Status, &st); err != nil {
		return nil, fmt.Errorf("read the stored status: %w", err)
	}
	edit(&st)
	st.Revision = max(st.Revision, q.Version) + 1
	status, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	// The result is stored even while the hub stops.
	err = d.Store.Apply(context.WithoutCancel(ctx), store.Change{
		Event: &q.Event, Version: q.Version, State: q.State, Status: status, Delivery: stored,
	})
	if err != nil {
		return nil, err
	}
	after := *q
	after.Status, after.Version = status, q.Version+1
	return &after, nil
}

// ownerLead is how long only the owner of a new question dials its listener: an agent that blocks in its
// POST can't accept a connection, and no other hub can see when it got the response.
const ownerLead = time.Second

// awaitResponse blocks until the agent can accept a connection. It returns an error only if ctx ends.
func (d *Dispatcher) awaitResponse(ctx context.Context, q *store.Question) error {
	if wait := q.ReceivedAt.Add(ownerLead).Sub(d.Clock()); wait > 0 && q.Owner != d.Store.Self() {
		select {
		case <-d.after(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return d.Hub.AwaitResponseSent(ctx, q.ID)
}
