package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

// OpenRequest is a pending question with the facts that decide who must answer it.
type OpenRequest struct {
	ID     schema.EventID
	Asks   bool // an answer is required
	Votes  bool // several approvals are required
	Status schema.Status
}

// ReadOpenRequest decodes a stored question. ok is false for one that is settled or a test.
func ReadOpenRequest(e *store.Event) (r OpenRequest, q schema.HumanInTheLoop, ok bool, err error) {
	r.ID = e.ID
	if err := q.UnmarshalJSON(e.Question); err != nil {
		return r, q, false, fmt.Errorf("read stored question %d: %w", e.ID, err)
	}
	if err := json.Unmarshal(e.Status, &r.Status); err != nil {
		return r, q, false, fmt.Errorf("read stored status of question %d: %w", e.ID, err)
	}
	r.Asks = q.RequiresResponse == nil || *q.RequiresResponse
	r.Votes = max(q.RequiredApprovals, r.Status.RequiredApprovals) > 1
	return r, q, !r.Status.IsSettled() && !r.Status.Test && !r.Status.Probe && e.App != schema.TestApp, nil
}

// IsLive reports whether its agent waits for an answer and still listens.
func (r *OpenRequest) IsLive() bool { return r.Asks && r.Status.Waiter != schema.Lost }

// MayAnswer reports whether the person of that name may answer it now: it requires an answer, has none
// within its undo window, and the person did not vote. The name is empty for a caller who is not signed
// in.
func (r *OpenRequest) MayAnswer(name string) bool {
	if !r.Asks || r.Status.Held != nil {
		return false
	}
	if r.Status.Recipients != nil {
		return slices.Contains(r.Status.Awaiting, name)
	}
	return !r.Votes || !slices.ContainsFunc(r.Status.Votes, func(v schema.Vote) bool { return v.User == name })
}

// CountNeeds returns the number of open requests that need the person of that name: the person may
// answer them, and an agent still listens. Equal calls count once, because one answer is for all. The
// page counts the same in needsYou, without the snoozed ones.
func CountNeeds[R any](open map[schema.EventID]R, request func(R) *OpenRequest, name string) (n int64) {
	groups := map[schema.EventID]bool{} // first of equal calls → an agent of the group listens
	for _, o := range open {
		r := request(o)
		first := r.ID
		if _, isOpen := open[r.Status.SameAs]; isOpen && r.Status.Held == nil {
			first = r.Status.SameAs
		}
		groups[first] = groups[first] || r.Status.Waiter != schema.Lost
	}
	for first, live := range groups {
		if live && request(open[first]).MayAnswer(name) {
			n++
		}
	}
	return n
}

// NeedsYou returns the number of requests that need the caller now; 0 for one who may not answer.
func (s *Service) NeedsYou(ctx context.Context, me auth.Identity) (int64, error) {
	if s.People != nil && !s.canVote(me) {
		return 0, nil
	}
	events, err := s.Store.Pending(ctx)
	if err != nil {
		return 0, err
	}
	open := map[schema.EventID]*OpenRequest{}
	for _, e := range events {
		r, _, ok, err := ReadOpenRequest(e)
		if err != nil {
			return 0, err
		}
		if ok {
			open[r.ID] = &r
		}
	}
	return CountNeeds(open, func(r *OpenRequest) *OpenRequest { return r }, me.Name), nil
}
