package hub

import (
	"context"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// usualHold is how long approvals of a list are held unless told.
const usualHold = 5 * time.Second

// Approve says yes to each of the listed permissions, as it was seen, and returns
// an array with one schema.BatchResult each, in their order. One that is refused
// does not stop the others.
func (h *Hub) Approve(ctx context.Context, list *schema.Approvals, by Caller) ([]byte, error) {
	if err := h.People.RequireOperator(by.Who); err != nil {
		return nil, err
	}
	if err := list.Validate(); err != nil {
		return nil, err
	}
	yes := true
	r := schema.Response{Permission: &yes, Reason: list.Reason, HoldMS: list.HoldMS}
	if r.HoldMS == 0 {
		r.HoldMS = usualHold.Milliseconds()
	}
	h.noticeStep(context.WithoutCancel(ctx)) // before the ends of the holds are reckoned
	process := h.process(by)
	saved, failed := make([]StoredEvent, len(list.Requests)), make([]error, len(list.Requests))
	var each sync.WaitGroup // at once: they share a commit
	for i, seen := range list.Requests {
		each.Go(func() {
			one := r
			one.Revision = seen.Revision
			saved[i].JSON, failed[i] = whole(h.approve(ctx, seen.ID, &one, answerer{by.Who, process}))
		})
	}
	each.Wait()
	return appendResults(nil, saved, failed)
}

func (h *Hub) approve(ctx context.Context, id schema.EventID, yes *schema.Response, by answerer) (*store.Event, error) {
	return h.transition(ctx, id, func(a *asking) (*store.Change, error) {
		if !a.status.Settled() && a.risky() {
			return nil, &schema.HintError{
				Err:  &schema.StatusError{Err: schema.ErrRisky, Status: a.status},
				Hint: "Look at it by itself, and answer it there.",
			}
		}
		if !a.status.Settled() && a.status.RequiredApprovals > 1 {
			return nil, &schema.HintError{
				Err:  &schema.StatusError{Err: schema.ErrRisky, Status: a.status},
				Hint: "Several people have to agree to it: vote on it by itself.",
			}
		}
		who, err := h.responder(a, by)
		if err != nil {
			return nil, err
		}
		if err := h.proven(a, yes, who, proof{}); err != nil { // risky ones are refused above; which risk that is, is another knob
			return nil, err
		}
		h.leaveOut(a, by, who)
		return a.respond(yes, who, h.Clock())
	})
}

// risky reports whether a person must look at the question by itself. The agent's
// word counts as well as the hub's own estimate.
func (a *asking) risky() bool {
	for _, risk := range []schema.Risk{a.status.Risk, a.hitl.Risk} {
		if risk == schema.HighRisk || risk == schema.CriticalRisk {
			return true
		}
	}
	return false
}

// appendResults appends an array with one schema.BatchResult each.
func appendResults(dst []byte, saved []StoredEvent, failed []error) ([]byte, error) {
	dst = append(dst, '[')
	for i := range saved {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendResult(dst, saved[i], failed[i]); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}
