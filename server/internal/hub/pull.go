package hub

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// deliveryGrace is how long a pull waits for a callback in progress.
const deliveryGrace = 2 * time.Second

// PullOptions holds the options of Hub.Pull.
type PullOptions struct {
	Wait   time.Duration // maximum wait for an answer (long poll); 0 returns immediately
	Secret string        // request secret; with it the answer counts as pulled, else as fetched
	// OnDeadline, if set, is called with the deadline of a question that has no answer
	// yet; the zero time means none. Pull then returns as soon as the deadline changes.
	OnDeadline func(at time.Time)
}

// Pull returns the answer to a question as JSON, or nil if there is none within p.Wait,
// or if ctx ends. It is for agents that can't be dialed. A question that the agent withdrew is
// schema.ErrExpired.
func (h *Hub) Pull(ctx context.Context, id schema.EventID, p PullOptions) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Wait+deliveryGrace)
	defer cancel()
	timeout := time.After(p.Wait)
	changed, stop := h.subscribe(id)
	defer stop()
	var deadline time.Time // when the pull started
	for first := true; ; first = false {
		s, err := h.readSnapshot(ctx, id)
		switch {
		case err != nil && ctx.Err() != nil: // the hub stops, or the caller is gone: as if it happened below
			return nil, nil
		case err != nil:
			return nil, err
		}
		if p.Secret != "" {
			if err := s.CheckSecret(schema.SecretHeader, p.Secret); err != nil {
				return nil, err
			}
		}
		isSettled := s.Status.IsSettled()
		if isSettled && !s.IsDelivering() {
			return h.pulledAnswer(ctx, s, p)
		}
		if first {
			deadline = s.Deadline
		}
		if p.OnDeadline != nil {
			if p.OnDeadline(s.Deadline); !s.Deadline.Equal(deadline) {
				return nil, nil
			}
		}
		// Thousands of agents can wait for minutes: nothing below refers to s, which is released.
		select {
		case <-changed:
		case <-timeout:
			if !isSettled {
				return nil, nil
			}
			if s, err = h.readSnapshot(ctx, id); err != nil {
				return nil, err
			}
			return h.pulledAnswer(ctx, s, p)
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// RejectAnswer records that the agent fetched the answer to its question and did not accept it. result is
// that of a schema.Ack.
func (h *Hub) RejectAnswer(ctx context.Context, id schema.EventID, secret, result string) error {
	_, err := h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) {
		return s.MarkRejected(secret, result, h.Address)
	})
	return err
}

func (h *Hub) pulledAnswer(ctx context.Context, s *question.Snapshot, p PullOptions) ([]byte, error) {
	if s.Status.Outcome == schema.Withdrawn {
		return nil, question.SettledError(&s.Status)
	}
	mark := (*question.Snapshot).MarkPulled
	if p.Secret == "" {
		mark = (*question.Snapshot).MarkFetched
	}
	if p.Secret != "" || s.CanMarkFetched() {
		_, err := h.transition(ctx, s.ID, func(s *question.Snapshot) (*store.Change, error) { return mark(s, h.Clock()) })
		if err != nil {
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
