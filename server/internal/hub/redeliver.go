package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Redeliver queues an undelivered answer for an immediate attempt and returns the
// event. If the answer must not be sent again, the error is schema.ErrNoRetry with the
// reason as its hint.
func (h *Hub) Redeliver(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if err := s.requireRecipientCaller(caller); err != nil {
			return nil, err
		}
		return s.redeliver(h.Clock())
	}))
}

func (s *snapshot) redeliver(now time.Time) (*store.Change, error) {
	d := s.Delivery
	if d == nil {
		return nil, s.undecidedError()
	}
	switch {
	case s.status.Outcome == schema.Withdrawn:
		return nil, s.noRetryError("The agent withdrew its question and does not wait for an answer.")
	case s.URL == "":
		return nil, s.noRetryError("The agent gave no callback URL. It fetches the answer itself.")
	case s.blockedErr != nil:
		return nil, s.noRetryError("The hub may not dial the agent's callback URL: " + s.blockedErr.Error() + ".")
	}
	switch d.State {
	case schema.Delivered, schema.Acked, schema.Pulled:
		return nil, nil // already delivered
	case schema.Sending:
		return nil, nil // attempt in progress
	}
	if d.Sent && d.State == schema.TooLate {
		return nil, s.noRetryError("The agent asked another question of this kind since. It would take this answer for the answer to that one.")
	}
	if d.Sent {
		return nil, s.noRetryError("The answer was sent and then the connection broke. This agent can't distinguish a duplicate from the answer to its next question, so the hub never sends an answer twice.")
	}
	next := *d
	next.State, next.Due, next.Leased, next.Handled = schema.Queued, now, now.Add(deliveryLease), time.Time{}
	if latest := now.Add(deadlineGrace); latest.After(next.Until) {
		next.Until = latest
	}
	return s.deliveryChange(&next, schema.Delivery{State: schema.Queued, Attempts: d.Attempts})
}

// MarkHandled records that a person took care of an undelivered answer, and returns the
// event. Automatic delivery attempts stop.
func (h *Hub) MarkHandled(ctx context.Context, id schema.EventID, caller Caller) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	return eventJSON(h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if err := s.requireRecipientCaller(caller); err != nil {
			return nil, err
		}
		return s.markHandled(h.Clock())
	}))
}

func (s *snapshot) markHandled(now time.Time) (*store.Change, error) {
	switch {
	case s.Delivery == nil:
		return nil, s.undecidedError()
	case !s.Delivery.IsUndelivered():
		return nil, nil
	}
	delivery := *s.Delivery
	delivery.Handled, delivery.Due = now, time.Time{}
	display := *s.status.Delivery
	display.HandledAt, display.NextAttemptAt = schema.Millis(now.UnixMilli()), 0
	return s.deliveryChange(&delivery, display)
}

// deliveryChange returns a change of the delivery only.
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
