package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Redeliver tries an answer now that did not get to its agent. What must not be
// sent again is schema.ErrNoRetry, with the reason as its hint.
func (h *Hub) Redeliver(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	if err := h.People.RequireOperator(caller.Who); err != nil {
		return nil, err
	}
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) { return s.redeliver(h.Clock()) }))
}

func (s *snapshot) redeliver(now time.Time) (*store.Change, error) {
	d := s.Delivery
	if d == nil {
		return nil, s.undecidedError()
	}
	switch {
	case s.status.Outcome == schema.Withdrawn:
		return nil, s.noRetryError("The agent took its question back: it waits for no answer.")
	case s.URL == "":
		return nil, s.noRetryError("The agent named no address to send it to: it fetches its answer itself.")
	case s.blockedErr != nil:
		return nil, s.noRetryError("The agent's address may not be dialled: " + s.blockedErr.Error() + ".")
	}
	switch d.State {
	case schema.Delivered, schema.Acked, schema.Pulled:
		return nil, nil // it has it
	case schema.Sending:
		return nil, nil // it is being sent
	}
	if d.Sent {
		return nil, s.noRetryError("It was sent and the line broke. This agent can't tell a second copy from the answer to its next question, so nothing is ever sent to it twice.")
	}
	next := *d
	next.State, next.Due, next.Leased, next.Handled = schema.Queued, now, now.Add(deliveryLease), time.Time{}
	if latest := now.Add(deadlineGrace); latest.After(next.Until) {
		next.Until = latest
	}
	return s.deliveryChange(&next, schema.Delivery{State: schema.Queued, Attempts: d.Attempts})
}

// Handled notes that a person took care of an answer that did not get to its
// agent: nothing is tried by itself any more.
func (h *Hub) Handled(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	if err := h.People.RequireOperator(caller.Who); err != nil {
		return nil, err
	}
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) { return s.markHandled(h.Clock()) }))
}

func (s *snapshot) markHandled(now time.Time) (*store.Change, error) {
	switch {
	case s.Delivery == nil:
		return nil, s.undecidedError()
	case !s.Delivery.Undelivered():
		return nil, nil
	}
	delivery := *s.Delivery
	delivery.Handled, delivery.Due = now, time.Time{}
	display := *s.status.Delivery
	display.HandledAt, display.NextAttemptAt = schema.Millis(now.UnixMilli()), 0
	return s.deliveryChange(&delivery, display)
}

// deliveryChange is the change of the delivery alone.
func (s *snapshot) deliveryChange(d *store.Delivery, display schema.Delivery) (*store.Change, error) {
	st := s.status
	st.Delivery = &display
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Delivery = d
	return c, nil
}

func (s *snapshot) undecidedError() error {
	return &schema.StatusError{Err: schema.ErrUndecided, Status: s.status}
}

func (s *snapshot) noRetryError(reason string) error {
	return &schema.HintError{Err: &schema.StatusError{Err: schema.ErrNoRetry, Status: s.status}, Hint: reason}
}
