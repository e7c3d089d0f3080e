package hub

import (
	"context"
	"sync"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// defaultUndoWindow is the undo window of bulk approvals that set no HoldMS.
const defaultUndoWindow = 5 * time.Second

// ApproveAll approves each listed permission at the revision that the person saw. It
// returns a JSON array with one schema.BatchResult per request, in the same order. A
// rejected one does not stop the others.
func (h *Hub) ApproveAll(ctx context.Context, list *schema.Approvals, caller Caller) ([]byte, error) {
	if err := h.People.Check(schema.AccessDecide, caller.Identity); err != nil {
		return nil, err
	}
	if err := list.Validate(); err != nil {
		return nil, err
	}
	approved := true
	r := schema.Response{Permission: &approved, Reason: list.Reason, HoldMS: list.HoldMS}
	if r.HoldMS == 0 {
		r.HoldMS = defaultUndoWindow.Milliseconds()
	}
	h.detectClockStep(context.WithoutCancel(ctx)) // before the ends of the undo windows are computed
	process := h.callerProcess(caller)
	results, errs := make([]StoredEvent, len(list.Requests)), make([]error, len(list.Requests))
	var wg sync.WaitGroup // in parallel, so that they share a group commit
	for i, seen := range list.Requests {
		wg.Go(func() {
			response := r
			response.Revision = seen.Revision
			results[i].JSON, errs[i] = eventJSON(h.approveOne(ctx, seen.ID, &response, responder{caller.Identity, process}))
		})
	}
	wg.Wait()
	return appendBatchResults(nil, results, errs)
}

func (h *Hub) approveOne(ctx context.Context, id schema.EventID, approval *schema.Response, from responder) (*store.Event, error) {
	return h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if !s.status.IsSettled() && s.isRisky() {
			return nil, &schema.HintError{
				Err:  &schema.StatusError{Err: schema.ErrRisky, Status: s.status},
				Hint: "Open this request and answer it there.",
			}
		}
		if !s.status.IsSettled() && s.status.RequiredApprovals > 1 {
			return nil, &schema.HintError{
				Err:  &schema.StatusError{Err: schema.ErrRisky, Status: s.status},
				Hint: "This request needs several approvals. Open it and vote there.",
			}
		}
		by, err := h.authorizeResponder(s, from)
		if err != nil {
			return nil, err
		}
		// The passkey threshold is a separate setting and may be below the high risk that is rejected above.
		if err := h.requireAssertion(s, approval, by, assertion{}); err != nil {
			return nil, err
		}
		h.excludeSelfApproved(s, from, by)
		return s.respond(approval, by, h.Clock())
	})
}

// isRisky reports whether the question is too risky for bulk approval: the hub has a finding of
// medium risk or more about the call, or the agent's own estimate is high.
func (s *snapshot) isRisky() bool {
	if s.status.Class == schema.ClassRisky {
		return true
	}
	for _, risk := range []schema.Risk{s.status.Risk, s.hitl.Risk} {
		if risk == schema.HighRisk || risk == schema.CriticalRisk {
			return true
		}
	}
	return false
}

// appendBatchResults appends a JSON array with one schema.BatchResult per event.
func appendBatchResults(dst []byte, results []StoredEvent, errs []error) ([]byte, error) {
	dst = append(dst, '[')
	for i := range results {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendBatchResult(dst, results[i], errs[i]); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}
