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

// outcome is what came of one attempt.
type outcome struct {
	state     schema.DeliveryState
	confirmed string // close or write, of a version 1 listener
	problem   string // for a person to read; never holds the address's path
	retry     bool   // another attempt may do better
	refusal   bool   // the listener is there and will not have it: three times is enough
}

// maxRefusals is after how many refusals the listener is believed.
const maxRefusals = 3

// try makes one attempt at a delivery, if it is due, and writes down what came of
// it. An error means that the row is as it was. parked is set when the listener is
// busy: then nothing was done, and it is tried once it is not.
func (d *Dispatcher) try(ctx context.Context, id schema.EventID, parked *bool) error {
	q, err := d.Store.Question(ctx, id)
	if err != nil {
		return err
	}
	if !due(q, d.Clock()) {
		return nil
	}
	if o, over := d.beforehand(q); over {
		return d.settle(ctx, q, q.Delivery.Attempts, o)
	}
	target, err := d.DialPolicy.parse(q.URL)
	if err != nil {
		return d.settle(ctx, q, q.Delivery.Attempts, outcome{state: schema.Blocked, problem: err.Error()})
	}
	if !d.enter(target.hostPort(), id) {
		*parked = true
		return nil
	}
	defer d.leave(target.hostPort())
	if err := d.AwaitResponseSent(ctx, id); err != nil {
		return err
	}
	return d.attempt(ctx, q, target)
}

// due reports whether there is something to do for q now.
func due(q *store.Question, now time.Time) bool {
	return open(q.Delivery) && !q.Delivery.Due.After(now)
}

// open reports whether the delivery is neither done nor given up.
func open(d *store.Delivery) bool {
	if d == nil || d.Due.IsZero() || !d.Handled.IsZero() {
		return false
	}
	switch d.State {
	case schema.NoDelivery, schema.Delivered, schema.Acked, schema.Pulled, schema.TooLate, schema.Blocked:
		return false
	default:
		return true
	}
}

// beforehand ends deliveries for which nothing may be dialled any more.
func (d *Dispatcher) beforehand(q *store.Question) (o outcome, over bool) {
	switch {
	case q.Delivery.Sent:
		return outcome{state: schema.Unconfirmed, problem: "the hub stopped while it sent the answer; the agent may have it or not"}, true
	case q.URL == "":
		return outcome{state: schema.NoDelivery}, true
	case !q.Delivery.Until.IsZero() && d.Clock().After(q.Delivery.Until):
		return outcome{state: gaveUp(q.Delivery.State), problem: "nobody took the answer while it was good"}, true
	default:
		return outcome{}, false
	}
}

// gaveUp is the last state of a delivery that is not tried any more.
func gaveUp(s schema.DeliveryState) schema.DeliveryState {
	switch s {
	case schema.Unconfirmed, schema.Refused:
		return s
	default:
		return schema.Unreachable
	}
}

// attempt dials and hands over the answer.
func (d *Dispatcher) attempt(ctx context.Context, q *store.Question, t target) error {
	number := q.Delivery.Attempts + 1
	l, o := d.dial(ctx, t, q)
	if l == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		return d.settle(ctx, q, number, o)
	}
	defer func() {
		if ctx.Err() != nil {
			l.hangUp(0)
		} else {
			l.hangUp(d.timing.goodbye)
		}
	}()
	if q.Protocol >= 2 {
		o, err := l.deliver(ctx, buildFrame(q, number), d.timing)
		if err != nil {
			return err
		}
		return d.settle(ctx, q, number, o)
	}
	return d.tellOnce(ctx, q, l, number)
}

// tellOnce hands the answer to a version 1 listener. There is no second chance
// from the first byte on, so a stop of the hub waits for the end, which is seconds
// away.
func (d *Dispatcher) tellOnce(ctx context.Context, q *store.Question, l *line, number int) error {
	frame := buildFrame(q, number) // before the mark: from there on every moment counts
	q, err := d.markSent(ctx, q, number)
	if err != nil || q == nil {
		return err
	}
	if reason, gone := l.gone(); gone {
		// It went away before a byte was written: it can't have the answer.
		q.Delivery.Sent = false
		return d.settle(ctx, q, number, outcome{state: schema.Unreachable, retry: true, problem: reason + " before it was told anything"})
	}
	return d.settle(ctx, q, number, l.tell(frame, d.timing))
}

// maxRaces bounds how often a change is tried against others'.
const maxRaces = 16

// errRaces means that a question changes all the time, which none does.
var errRaces = errors.New("the question kept changing")

// markSent writes down that a version 1 listener is about to be sent the answer.
// It returns nil when somebody else has changed what is to be done meanwhile: the
// agent pulled its answer, or named another address.
func (d *Dispatcher) markSent(ctx context.Context, q *store.Question, number int) (*store.Question, error) {
	for range maxRaces {
		delivery := *q.Delivery
		delivery.Sent, delivery.State, delivery.Attempts = true, schema.Sending, number
		marked, err := d.apply(ctx, q, &delivery, &schema.Delivery{State: schema.Sending, Attempts: number})
		if !errors.Is(err, store.ErrConflict) {
			return marked, err
		}
		url := q.URL
		if q, err = d.Store.Question(ctx, q.ID); err != nil {
			return nil, err
		}
		if !open(q.Delivery) || q.URL != url {
			return nil, d.release(ctx, q)
		}
	}
	return nil, errRaces
}

// settle writes down what came of an attempt, and when the next one is due.
func (d *Dispatcher) settle(ctx context.Context, q *store.Question, number int, o outcome) error {
	sent := q.Delivery.Sent
	if o.refusal {
		if o.retry = d.refused(q.ID, q.URL) < maxRefusals; o.retry {
			o.state = schema.Unreachable // not believed yet
		}
	}
	for range maxRaces {
		delivery, shown := d.next(q, number, o)
		delivery.Sent = sent
		_, err := d.apply(ctx, q, delivery, shown)
		if err == nil {
			if delivery.Due.IsZero() {
				d.forget(q.ID)
			} else {
				d.poke()
			}
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		url := q.URL
		if q, err = d.Store.Question(ctx, q.ID); err != nil {
			return err
		}
		switch {
		case q.Delivery == nil || q.Delivery.State == schema.Acked || q.Delivery.State == schema.Pulled:
			d.forget(q.ID)
			return nil // better known than by us
		case q.URL != url && o.state != schema.Acked && !sent:
			return d.release(ctx, q)
		}
	}
	return errRaces
}

// release lets go of a delivery whose agent has named a new address: it is due at
// once there.
func (d *Dispatcher) release(ctx context.Context, q *store.Question) error {
	if !open(q.Delivery) {
		return nil
	}
	delivery := *q.Delivery
	delivery.Leased, delivery.Due = time.Time{}, d.Clock()
	_, err := d.apply(ctx, q, &delivery, &schema.Delivery{State: delivery.State, Attempts: delivery.Attempts})
	d.poke()
	if errors.Is(err, store.ErrConflict) {
		return nil // its lease runs out in time
	}
	return err
}

// next is the delivery after an attempt, as it is kept and as it is shown.
func (d *Dispatcher) next(q *store.Question, number int, o outcome) (*store.Delivery, *schema.Delivery) {
	now := d.Clock()
	if o.state == schema.Unreachable && decidedElsewhere(q) {
		o.state, o.retry = schema.NoDelivery, false
	}
	kept := *q.Delivery
	kept.State, kept.Attempts, kept.Leased, kept.Due = o.state, number, time.Time{}, time.Time{}
	shown := &schema.Delivery{State: o.state, Attempts: number, Confirmed: o.confirmed, LastError: o.problem}
	switch o.state {
	case schema.Delivered, schema.Acked:
		shown.DeliveredAt = schema.Millis(now.UnixMilli())
	}
	if at := now.Add(d.delay(number)); o.retry && kept.Handled.IsZero() && (kept.Until.IsZero() || at.Before(kept.Until)) {
		kept.Due = at
		shown.NextAttemptAt = schema.Millis(at.UnixMilli())
	}
	return &kept, shown
}

// decidedElsewhere reports whether the agent itself decided. Then a hook that is not
// there has nothing left to wait for, and nobody misses what it was to be told.
func decidedElsewhere(q *store.Question) bool {
	var st schema.Status
	return json.Unmarshal(q.Status, &st) == nil && st.Source == schema.ByAgent
}

// delays are the pauses after the first attempts; the last one is kept up for the
// attempts of five minutes. After that it is slow: every attempt is a row of the
// log, and an agent that is gone for so long has all day.
var delays = []time.Duration{
	200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
}

const (
	eagerAttempts = 35
	slow          = time.Minute
)

func (d *Dispatcher) delay(attempts int) time.Duration {
	pause := delays[min(max(attempts, 1), len(delays))-1]
	if attempts > eagerAttempts {
		pause = slow
	}
	return time.Duration(float64(pause) * d.jitter())
}

// apply changes the delivery in the row and in the status that everyone sees, and
// returns the question as it is then.
func (d *Dispatcher) apply(ctx context.Context, q *store.Question, kept *store.Delivery, shown *schema.Delivery) (*store.Question, error) {
	if !kept.Handled.IsZero() {
		shown.HandledAt = schema.Millis(kept.Handled.UnixMilli())
	}
	after, err := d.change(ctx, q, kept, func(st *schema.Status) { st.Delivery = shown })
	if err != nil {
		return nil, err
	}
	after.Delivery = kept
	return after, nil
}

// change changes the status, and with it the delivery unless kept is nil.
func (d *Dispatcher) change(ctx context.Context, q *store.Question, kept *store.Delivery, edit func(*schema.Status)) (*store.Question, error) {
	var st schema.Status
	if err := json.Unmarshal(q.Status, &st); err != nil {
		return nil, fmt.Errorf("reading the stored status: %w", err)
	}
	edit(&st)
	st.Revision = max(st.Revision, q.Version) + 1
	status, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	// What was found out is written down even when the hub is stopping.
	err = d.Store.Apply(context.WithoutCancel(ctx), store.Change{
		Event: &q.Event, Version: q.Version, State: q.State, Status: status, Delivery: kept,
	})
	if err != nil {
		return nil, err
	}
	after := *q
	after.Status, after.Version = status, q.Version+1
	return &after, nil
}
