package studio

import (
	"context"
	"strconv"

	"github.com/hookback/hookback/schema/history"
)

// Policies returns the policy files in force, with the effect of their rules on the last 30 days.
func (s *Service) Policies(ctx context.Context) (*history.PolicyList, error) {
	release, err := s.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	r, complete, err := s.readReports(ctx, s.Clock())
	if err != nil {
		return nil, err
	}
	list := &history.PolicyList{Policies: []history.ReportedPolicy{}, Complete: complete && len(r.files) <= maxPolicies}
	listed := r.listed()
	for i, p := range listed {
		p.parse(strconv.Itoa(i))
		p.Sessions = int64(len(p.seen))
	}
	if len(listed) > 0 {
		counted, err := s.countHits(ctx, r, listed)
		if err != nil {
			return nil, err
		}
		list.Complete = list.Complete && counted
	}
	for _, p := range listed {
		list.Policies = append(list.Policies, p.ReportedPolicy)
	}
	return list, nil
}
