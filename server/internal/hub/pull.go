package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// deliveryGrace is how long a pull waits for a callback in progress.
const deliveryGrace = 2 * time.Second

// PullOptions holds the options of Hub.Pull.
type PullOptions struct {
	Wait   time.Duration // maximum wait for an answer (long poll); 0 returns immediately
	Secret string        // request secret; if set, the answer is marked as pulled
	// OnDeadline, if set, is called with the deadline of a question that has no answer
	// yet; the zero time means none. Pull then returns as soon as the deadline changes.
	OnDeadline func(at time.Time)
}

// Pull returns the answer to a question as JSON, or nil if there is none within p.Wait.
// It is for agents that can't be dialed. A question that the agent withdrew is
// schema.ErrExpired.
func (h *Hub) Pull(ctx context.Context, id schema.EventID, p PullOptions) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Wait+deliveryGrace)
	defer cancel()
	timeout := time.After(p.Wait)
	changed, stop := h.subscribe(id)
	defer stop()
	var first *snapshot
	for {
		s, err := h.readSnapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		if p.Secret != "" && !isRequestSecret(s.Question, p.Secret) {
			return nil, wrongSecretError(schema.SecretHeader)
		}
		if s.status.IsSettled() && !s.isDelivering() {
			return h.pulledAnswer(ctx, s, p)
		}
		if first == nil {
			first = s
		}
		if p.OnDeadline != nil {
			if p.OnDeadline(s.Deadline); !s.Deadline.Equal(first.Deadline) {
				return nil, nil
			}
		}
		select {
		case <-changed:
		case <-timeout:
			if s.status.IsSettled() {
				return h.pulledAnswer(ctx, s, p)
			}
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// isDelivering reports whether the first callback is still in progress. A pull lets it
// finish, so that the agent does not get the answer twice.
func (s *snapshot) isDelivering() bool {
	d := s.status.Delivery
	return d != nil && d.Attempts <= 1 && !d.State.IsFinal()
}

func (h *Hub) pulledAnswer(ctx context.Context, s *snapshot, p PullOptions) ([]byte, error) {
	if s.status.Outcome == schema.Withdrawn {
		return nil, s.settledError()
	}
	if p.Secret != "" {
		if err := h.markPulled(ctx, s.ID); err != nil {
			return nil, err
		}
	}
	b := append([]byte(nil), s.Answer[:len(s.Answer)-1]...)
	if seal := s.Seal(); seal != nil && p.Secret != "" {
		b = append(append(b, `,"seal":`...), seal...)
	}
	b = append(b, `,"hookEvent":`...)
	return append(s.Event.AppendJSON(b, -1), '}'), nil
}

// markPulled records that the agent has its answer, unless that is already recorded.
func (h *Hub) markPulled(ctx context.Context, id schema.EventID) error {
	_, err := h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if d := s.status.Delivery; d == nil || s.Delivery == nil || d.State == schema.Acked || d.State == schema.Pulled {
			return nil, nil
		}
		return s.pulledChange(h.Clock())
	})
	return err
}

func (s *snapshot) pulledChange(now time.Time) (*store.Change, error) {
	delivery := *s.Delivery
	delivery.State = schema.Pulled
	st := s.status
	st.Delivery = &schema.Delivery{
		State: schema.Pulled, Attempts: st.Delivery.Attempts, DeliveredAt: schema.Millis(now.UnixMilli()),
		HandledAt: st.Delivery.HandledAt,
	}
	c, err := s.change(st)
	if err != nil {
		return nil, err
	}
	c.Delivery = &delivery
	return c, nil
}
