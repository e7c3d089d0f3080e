package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Redeliver tries an answer now that did not get to its agent. What must not be
// sent again is schema.ErrNoRetry, with the reason as its hint.
func (h *Hub) Redeliver(ctx context.Context, id schema.EventID, by Caller) ([]byte, error) {
	if err := h.People.RequireOperator(by.Who); err != nil {
		return nil, err
	}
	return eventJSON(h.transition(ctx, id, func(a *snapshot) (*store.Change, error) { return a.redeliver(h.Clock()) }))
}

func (a *snapshot) redeliver(now time.Time) (*store.Change, error) {
	d := a.Delivery
	if d == nil {
		return nil, a.undecidedError()
	}
	switch {
	case a.status.Outcome == schema.Withdrawn:
		return nil, a.noRetryError("The agent took its question back: it waits for no answer.")
	case a.URL == "":
		return nil, a.noRetryError("The agent named no address to send it to: it fetches its answer itself.")
	case a.blockedErr != nil:
		return nil, a.noRetryError("The agent's address may not be dialled: " + a.blockedErr.Error() + ".")
	}
	switch d.State {
	case schema.Delivered, schema.Acked, schema.Pulled:
		return nil, nil // it has it
	case schema.Sending:
		return nil, nil // it is being sent
	}
	if d.Sent {
		return nil, a.noRetryError("It was sent and the line broke. This agent can't tell a second copy from the answer to its next question, so nothing is ever sent to it twice.")
	}
	again := *d
	again.State, again.Due, again.Leased, again.Handled = schema.Queued, now, now.Add(deliveryLease), time.Time{}
	if late := now.Add(deadlineGrace); late.After(again.Until) {
		again.Until = late
	}
	return a.deliveryChange(&again, schema.Delivery{State: schema.Queued, Attempts: d.Attempts})
}

// Handled notes that a person took care of an answer that did not get to its
// agent: nothing is tried by itself any more.
func (h *Hub) Handled(ctx context.Context, id schema.EventID, by Caller) ([]byte, error) {
	if err := h.People.RequireOperator(by.Who); err != nil {
		return nil, err
	}
	return eventJSON(h.transition(ctx, id, func(a *snapshot) (*store.Change, error) { return a.markHandled(h.Clock()) }))
}

func (a *snapshot) markHandled(now time.Time) (*store.Change, error) {
	switch {
	case a.Delivery == nil:
		return nil, a.undecidedError()
	case !a.Delivery.Undelivered():
		return nil, nil
	}
	done := *a.Delivery
	done.Handled, done.Due = now, time.Time{}
	shown := *a.status.Delivery
	shown.HandledAt, shown.NextAttemptAt = schema.Millis(now.UnixMilli()), 0
	return a.deliveryChange(&done, shown)
}

// deliveryChange is the change of the delivery alone.
func (a *snapshot) deliveryChange(d *store.Delivery, shown schema.Delivery) (*store.Change, error) {
	st := a.status
	st.Delivery = &shown
	c, err := a.change(st)
	if err != nil {
		return nil, err
	}
	c.Delivery = d
	return c, nil
}

func (a *snapshot) undecidedError() error {
	return &schema.StatusError{Err: schema.ErrUndecided, Status: a.status}
}

func (a *snapshot) noRetryError(why string) error {
	return &schema.HintError{Err: &schema.StatusError{Err: schema.ErrNoRetry, Status: a.status}, Hint: why}
}
