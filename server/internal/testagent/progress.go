package testagent

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
)

// Progress is one step of a test request, as -test-request prints it.
type Progress struct {
	ID schema.EventID `json:"id"`
	// State is saved, answered, sent, delivered or ran. A call that was not approved does not run, and a
	// request without an answer ends with answered.
	State   string `json:"state"`
	Outcome string `json:"outcome,omitempty"` // with answered: approved, denied, expired or canceled
}

// Follow calls step for each step of a test request, once and in their order, until the last one or
// the end of ctx.
func (a *Agent) Follow(ctx context.Context, id schema.EventID, step func(Progress)) error {
	done := 0
	err := a.Feed.Follow(ctx, feed.Changed, func(*feed.Batch) error {
		q, err := a.Store.Question(ctx, id)
		if err != nil {
			return err
		}
		var status schema.Status
		if err := json.Unmarshal(q.Status, &status); err != nil {
			return err
		}
		steps, isOver := progress(id, &status)
		for ; done < len(steps); done++ {
			step(steps[done])
		}
		if isOver {
			return errFound
		}
		return nil
	})
	if err == errFound { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}

// progress returns the steps that the request has taken, and whether there are no more.
func progress(id schema.EventID, status *schema.Status) (steps []Progress, isOver bool) {
	steps = []Progress{{ID: id, State: "saved"}}
	if !status.IsSettled() {
		return steps, false
	}
	outcome := "expired"
	switch status.Outcome {
	case schema.Approve:
		outcome = "approved"
	case schema.Deny:
		outcome = "denied"
	case schema.Cancelled:
		outcome = "canceled"
	}
	steps = append(steps, Progress{ID: id, State: "answered", Outcome: outcome})
	if outcome == "expired" || outcome == "canceled" || status.Delivery == nil {
		return steps, outcome == "expired" || outcome == "canceled"
	}
	switch status.Delivery.State {
	case schema.Sending:
		return append(steps, Progress{ID: id, State: "sent"}), false
	case schema.Acked, schema.Pulled:
		steps = append(steps, Progress{ID: id, State: "sent"}, Progress{ID: id, State: "delivered"})
	default:
		return steps, false
	}
	if outcome == "denied" {
		return steps, true
	}
	if status.Execution.IsOver() {
		return append(steps, Progress{ID: id, State: "ran"}), true
	}
	return steps, false
}
