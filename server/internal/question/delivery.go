package question

import (
	"reflect"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Redeliver returns the change that queues an undelivered answer for an immediate attempt. If
// the answer must not be sent again, the error is schema.ErrNoRetry with the reason as its hint.
func (s *Snapshot) Redeliver(from Actor, now time.Time) (*store.Change, error) {
	if err := s.requireRecipient(from.responder(nil)); err != nil {
		return nil, err
	}
	d := s.Delivery
	if d == nil {
		return nil, s.undecidedError()
	}
	if err := s.requireNotFrozen(s.Status.Outcome); err != nil && s.Status.Status == schema.Responded {
		return nil, err
	}
	switch {
	case s.Status.Outcome == schema.Withdrawn:
		return nil, s.noRetryError("The agent withdrew its question and does not wait for an answer.")
	case s.URL == "":
		return nil, s.noRetryError("The agent gave no callback URL. It fetches the answer itself.")
	case s.Blocked != nil:
		return nil, s.noRetryError("The hub may not dial the agent's callback URL: " + s.Blocked.Error() + ".")
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

// MarkHandled records that a person took care of an undelivered answer. Automatic delivery
// attempts stop.
func (s *Snapshot) MarkHandled(from Actor, now time.Time) (*store.Change, error) {
	if err := s.requireRecipient(from.responder(nil)); err != nil {
		return nil, err
	}
	switch {
	case s.Delivery == nil:
		return nil, s.undecidedError()
	case !s.Delivery.IsUndelivered():
		return nil, nil
	}
	delivery := *s.Delivery
	delivery.Handled, delivery.Due = now, time.Time{}
	display := *s.Status.Delivery
	display.HandledAt, display.NextAttemptAt = schema.Millis(now.UnixMilli()), 0
	return s.deliveryChange(&delivery, display)
}

// deliveryChange returns a change of the delivery only.
func (s *Snapshot) deliveryChange(d *store.Delivery, display schema.Delivery) (*store.Change, error) {
	st := s.Status
	st.Delivery = &display
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Delivery = d
	return c, nil
}

func (s *Snapshot) noRetryError(reason string) error {
	return &schema.HintError{Err: &schema.StatusError{Err: schema.ErrNoRetry, Status: s.Status}, Hint: reason}
}

// IsDelivering reports whether the first callback is still in progress. A pull lets it
// finish, so that the agent does not get the answer twice.
func (s *Snapshot) IsDelivering() bool {
	d := s.Status.Delivery
	return d != nil && d.Attempts <= 1 && !d.State.IsFinal()
}

// CanMarkFetched reports whether MarkFetched changes anything: only if the agent gave no
// callback URL and nothing has fetched the answer yet.
func (s *Snapshot) CanMarkFetched() bool {
	d := s.Status.Delivery
	return d != nil && s.Delivery != nil && d.State == schema.NoDelivery && s.URL == ""
}

// MarkFetched records that an answer was fetched without the request secret. It proves
// nothing, because any reader can do that. So it changes no delivery that the hub makes itself.
func (s *Snapshot) MarkFetched(now time.Time) (*store.Change, error) {
	if !s.CanMarkFetched() {
		return nil, nil
	}
	return s.markPulled(schema.Fetched, now)
}

// MarkPulled records that the agent fetched its answer, unless that is already recorded.
func (s *Snapshot) MarkPulled(now time.Time) (*store.Change, error) {
	if d := s.Status.Delivery; d == nil || s.Delivery == nil || d.State == schema.Acked || d.State == schema.Pulled {
		return nil, nil
	}
	return s.markPulled(schema.Pulled, now)
}

// MarkRejected records that the agent fetched its answer and did not accept it; result is that of an
// Ack. hub is the address of the hub for programs.
func (s *Snapshot) MarkRejected(secret, result, hub string) (*store.Change, error) {
	if err := s.CheckSecret(schema.SecretHeader, secret); err != nil {
		return nil, err
	}
	d := s.Status.Delivery
	if d == nil || s.Delivery == nil || d.State == schema.Acked || d.State == schema.Refused {
		return nil, nil
	}
	delivery := *s.Delivery
	delivery.State, delivery.Due = schema.Refused, time.Time{}
	return s.deliveryChange(&delivery, schema.Delivery{
		State: schema.Refused, Attempts: d.Attempts, LastError: "the agent " + Rejection(result, hub), HandledAt: d.HandledAt,
	})
}

// Rejection states why an agent did not accept an answer, by the result of its Ack, and the remedy. hub
// is the address of the hub for programs.
func Rejection(result, hub string) string {
	if result == schema.AckUntrusted {
		return "rejected the answer because it trusts another hub; if this hub replaced that one, run on the agent's machine: hookback trust " + hub
	}
	return "rejected the answer because it belongs to another question or does not fit this one"
}

func (s *Snapshot) markPulled(state schema.DeliveryState, now time.Time) (*store.Change, error) {
	delivery := *s.Delivery
	delivery.State = state
	return s.deliveryChange(&delivery, schema.Delivery{
		State: state, Attempts: s.Status.Delivery.Attempts, DeliveredAt: schema.Millis(now.UnixMilli()),
		HandledAt: s.Status.Delivery.HandledAt,
	})
}

// Supersede returns the change that ends an older question of a shared listener, or the
// delivery of its answer. Nothing is sent: the agent would take it for the answer to the
// newer question, by.
func (s *Snapshot) Supersede(by schema.EventID, now time.Time) (*store.Change, error) {
	if s.Status.IsSettled() {
		d := *s.Delivery
		d.State, d.Sent, d.Due, d.Leased = schema.TooLate, true, time.Time{}, time.Time{}
		return s.deliveryChange(&d, schema.Delivery{
			State: schema.TooLate, Attempts: d.Attempts, LastError: "the agent asked another question of this kind",
		})
	}
	s.Status.SupersededBy = by
	res := resolution{state: schema.Failed, outcome: schema.Cancelled, source: schema.BySuperseded, silent: true}
	return res.change(s, now)
}

// UpdateWaiter updates whether the agent of a pending question can be dialed, after a repeated POST
// named its callback URL again.
func (s *Snapshot) UpdateWaiter() (*store.Change, error) {
	st := s.Status
	if s.Lifeline == store.ByRetry {
		return nil, nil // the repeat waits as the first request did
	}
	updateWaiter(&st, s.URL, s.Protocol, s.Blocked)
	if s.Status.IsSettled() || reflect.DeepEqual(st, s.Status) {
		return nil, nil
	}
	return s.change(st)
}

// updateWaiter sets in the status of a pending question whether its agent can be dialed. A version 2 listener counts as
// listening until a probe refutes it. A version 1 listener is not probed, because it takes any connection for the answer.
func updateWaiter(st *schema.Status, url string, protocol int, blocked error) {
	st.Waiter, st.Delivery = schema.Unknown, nil
	switch {
	case url == "":
	case blocked != nil:
		// Reported before anyone answers, so that the agent can pull right away and
		// people see why the answer will not be sent.
		st.Delivery = &schema.Delivery{State: schema.Blocked, LastError: blocked.Error()}
	case protocol >= 2:
		st.Waiter = schema.Listening
	}
}

// SetNotifications stores who was notified of the question, settled or not.
func (s *Snapshot) SetNotifications(notices []schema.Notification, counts *schema.NotificationCounts) (*store.Change, error) {
	st := s.Status
	if reflect.DeepEqual(st.Notifications, notices) && reflect.DeepEqual(st.NotificationCounts, counts) {
		return nil, nil
	}
	st.Notifications, st.NotificationCounts = notices, counts
	return s.change(st)
}
